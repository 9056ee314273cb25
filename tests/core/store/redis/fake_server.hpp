// A server that does as a test tells it, to see what becomes of those who talk
// to it.

#ifndef LIMITREE_TESTS_CORE_STORE_REDIS_FAKE_SERVER_HPP
#define LIMITREE_TESTS_CORE_STORE_REDIS_FAKE_SERVER_HPP

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store/redis/facts/url.hpp"

namespace limitree::redis {

// One connection, as the server sees it.  Whatever takes time ends early when
// the server is destroyed.
class Peer {
 public:
  Peer(int socket, int stop) : socket_(socket), stop_(stop) {}

  // Reads these very bytes; a failure of the test if others come, or none.
  void expect(std::string_view bytes);

  void send(std::string_view bytes);
  void send_bytewise(std::string_view bytes);  // each in a packet of its own

  // Reads and ignores what comes until the other side closes.
  void wait_for_end();
  // Takes nothing from the socket any more, until the test is over.
  void hang();

  void close();  // in good order
  void end_sending();
  void reset();  // so that the other side sees ECONNRESET

 private:
  bool wait(short events);  // false: the test is over

  int socket_;  // -1: closed; else by FakeServer
  const int stop_;
};

class FakeServer {
 public:
  // Runs `script` for each connection, in a thread of its own, and closes it
  // after that.
  explicit FakeServer(std::function<void(Peer&)> script);
  // The same for the first connection, the second one, ...; the last of
  // `scripts` for all that follow.
  explicit FakeServer(std::vector<std::function<void(Peer&)>> scripts);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const { return port_; }
  Endpoint endpoint() const;

  int connections() const;  // that have been accepted so far

 private:
  void accept_all();

  const std::vector<std::function<void(Peer&)>> scripts_;
  int port_ = 0;
  int listener_ = -1;
  int stop_ = -1;
  mutable std::mutex mutex_;  // guards peers_
  std::vector<std::thread> peers_;
  std::thread accepter_;
};

// Listens and accepts nobody, its queue being full: to connect to it takes for
// ever.
class DeafServer {
 public:
  // On a port of the system's choice if `port` is 0.
  explicit DeafServer(const std::string& address = "127.0.0.1", int port = 0);
  ~DeafServer();
  DeafServer(const DeafServer&) = delete;
  DeafServer& operator=(const DeafServer&) = delete;

  int port() const { return port_; }
  Endpoint endpoint() const;

 private:
  const std::string address_;
  int port_;
  const int listener_;
  std::vector<int> queued_;
};

}  // namespace limitree::redis

#endif  // LIMITREE_TESTS_CORE_STORE_REDIS_FAKE_SERVER_HPP
