// The way to a server of StatsD.

#ifndef LIMITREE_SERVER_STATS_STATSD_SOCKET_HPP
#define LIMITREE_SERVER_STATS_STATSD_SOCKET_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/fd.hpp"
#include "io/timer.hpp"
#include "stats/settings.hpp"

struct addrinfo;

namespace limitree::server {

// For a thread that may block: a name may be looked up for any time, and all
// else takes a second at most.
class StatsdSocket {
 public:
  StatsdSocket(StatsProtocol protocol, std::string host, std::uint16_t port);

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
  bool connect_to(const addrinfo& address);
  bool is_connected();
  void fail(const std::string& why, bool closes = true);

  const StatsProtocol protocol_;
  const std::string host_;
  const std::uint16_t port_;
  Fd fd_;
  std::string trouble_;
  Duration pause_{};  // after the next failure, unless it is the first
  Monotonic next_attempt_{};
};

// Collects lines into pieces of at most `size` bytes.
class LinePacker {
 public:
  explicit LinePacker(std::size_t size) : size_(size) {}

  // Whether the line fits in with the lines that are there.
  bool fits(std::string_view line) const {
    return lines_.size() + line.size() <= size_;
  }
  void add(std::string_view line) {
    lines_ += line;
    ++count_;
  }
  void clear() {
    lines_.clear();
    count_ = 0;
  }
  const std::string& lines() const { return lines_; }
  std::size_t count() const { return count_; }

 private:
  const std::size_t size_;
  std::string lines_;
  std::size_t count_ = 0;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_STATSD_SOCKET_HPP
