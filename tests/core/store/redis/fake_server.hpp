// A server that follows a test's script, to see how its clients cope.

#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store/redis/common/url.hpp"

namespace limitree::redis {

// One connection, as the server sees it.  Calls that wait return early when the
// server is destroyed.
class Peer {
 public:
  Peer(int socket, int stop) : socket_(socket), stop_(stop) {}

  // Reads as many bytes as these.  The test fails if other bytes come, or too
  // few.
  void expect(std::string_view bytes);

  // The next line, without its end; "" if the other side has closed.
  std::string receive_line();
  void skip(std::size_t count);  // reads so many bytes

  void send(std::string_view bytes);
  void send_bytewise(std::string_view bytes);  // each in a packet of its own

  // Discards what comes until the other side closes.
  void wait_for_end();
  // Blocks until the test is over, without reading from the socket.
  void hang();

  void close();  // orderly, without a reset
  void end_sending();
  void reset();  // so that the other side sees ECONNRESET

 private:
  bool wait(short events);  // false: the test is over
  std::string receive(std::size_t count);

  int socket_;  // -1 once closed, at the latest by FakeServer
  const int stop_;
};

// The script that waits for `request`, answers it and waits for the end.
std::function<void(Peer&)> answering(std::string request, std::string reply);

class FakeServer {
 public:
  // Runs `script` for each connection in its own thread, then closes the
  // connection.
  explicit FakeServer(std::function<void(Peer&)> script);
  // The same with a script for each connection, in this order.  The last script
  // serves all connections after that.
  explicit FakeServer(std::vector<std::function<void(Peer&)>> scripts);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const { return port_; }
  Endpoint endpoint() const;

  int connections() const;  // accepted so far

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

// Listens and accepts nothing.  Its queue is full, so an attempt to connect
// gets no answer.
class DeafServer {
 public:
  // If `port` is 0, the system chooses a port.
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
