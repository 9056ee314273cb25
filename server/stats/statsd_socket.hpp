// The connection to a server of StatsD.

#ifndef LIMITREE_SERVER_STATS_STATSD_SOCKET_HPP
#define LIMITREE_SERVER_STATS_STATSD_SOCKET_HPP

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "io/endpoint.hpp"
#include "io/fd.hpp"
#include "io/socket.hpp"
#include "io/timer.hpp"
#include "stats/settings.hpp"

namespace limitree::server {

// For a thread that may block: looking up a name may take any time, and
// everything else takes at most a second.
class StatsdSocket {
 public:
  StatsdSocket(StatsProtocol protocol, Endpoint server);

  // Whether lines can be sent.  Connects if there is no connection; if that
  // fails, the next attempts wait for longer and longer, up to 30 seconds.
  bool open();

  // Sends whole lines, over UDP as one datagram.  False if they are lost; the
  // connection is closed then.
  bool send(std::string_view lines);

  // Ends what open() began.  A connection over TCP stays.
  void finish();

  // "localhost:8125: connection refused", if the last call failed.
  const std::string& trouble() const { return trouble_; }

 private:
  bool connect();
  bool connect_to(const SocketAddress& address);
  bool is_connected();
  void fail(const std::string& why, bool closes = true);
  int type() const {
    return protocol_ == StatsProtocol::kTcp ? SOCK_STREAM : SOCK_DGRAM;
  }

  const StatsProtocol protocol_;
  const Endpoint server_;
  Fd fd_;
  std::string trouble_;
  Duration pause_{};  // after the next failure, unless it is the first
  Monotonic next_attempt_{};
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_STATSD_SOCKET_HPP
