// A proxy between a client and a server that does what networks do: it delays,
// splits, withholds or cuts off what the server sends.

#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace limitree::redis {

class ChaosProxy {
 public:
  // A test may change these at any time.  A new delay applies to what the
  // server sends afterwards, the others to all that is not yet forwarded.
  std::atomic<std::int64_t> delay_us{0};    // of each piece the server sends
  std::atomic<bool> crumble{false};         // forwards one byte at a time
  std::atomic<bool> swallow{false};         // forwards nothing, closes nothing
  std::atomic<std::int64_t> cut_after{-1};  // bytes before a reset; -1: never

  explicit ChaosProxy(int server_port) : server_port_(server_port) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(listener_, as_sockaddr(&address), size) != 0 ||
        listen(listener_, 128) != 0 ||
        getsockname(listener_, as_sockaddr(&address), &size) != 0) {
      throw std::runtime_error("the proxy cannot listen");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }

  ~ChaosProxy() {
    stop_ = true;
    thread_.join();
    for (Pair& pair : pairs_) end(&pair, false);
    close(listener_);
  }

  ChaosProxy(const ChaosProxy&) = delete;
  ChaosProxy& operator=(const ChaosProxy&) = delete;

  int port() const { return port_; }
  int accepted() const { return accepted_; }  // connections so far

 private:
  using Clock = std::chrono::steady_clock;

  struct Piece {
    Clock::time_point due;
    std::string bytes;
  };

  struct Pair {
    int client = -1;
    int server = -1;
    std::deque<Piece> replies;
    std::int64_t sent = 0;  // bytes, to the client
  };

  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<in_port_t>(port));
    return address;
  }

  static sockaddr* as_sockaddr(sockaddr_in* address) {
    return reinterpret_cast<sockaddr*>(address);
  }

  void run() {
    while (!stop_) {
      std::vector<pollfd> watched{{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        watched.push_back({pair.client, POLLIN, 0});
        watched.push_back({pair.server, POLLIN, 0});
      }
      poll(watched.data(), static_cast<nfds_t>(watched.size()), 1);
      std::size_t at = 1;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
        const bool alive =
            (watched[at].revents == 0 || from_client(&*pair)) &&
            (watched[at + 1].revents == 0 || from_server(&*pair)) &&
            to_client(&*pair);
        if (!alive) end(&*pair, cut_after >= 0);
        pair = alive ? std::next(pair) : pairs_.erase(pair);
      }
      if (watched[0].revents != 0) accept_one();
    }
  }

  void accept_one() {
    Pair pair;
    pair.client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    ++accepted_;
    pair.server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(server_port_);
    if (connect(pair.server, as_sockaddr(&address), sizeof address) != 0) {
      end(&pair, false);
      return;
    }
    pairs_.push_back(std::move(pair));
  }

  static bool from_client(Pair* pair) {
    char bytes[16384];
    const ssize_t size = recv(pair->client, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    return send(pair->server, bytes, static_cast<std::size_t>(size),
                MSG_NOSIGNAL) == size;
  }

  bool from_server(Pair* pair) const {
    char bytes[16384];
    const ssize_t size = recv(pair->server, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    pair->replies.push_back(
        {Clock::now() + std::chrono::microseconds(delay_us),
         std::string(bytes, static_cast<std::size_t>(size))});
    return true;
  }

  bool to_client(Pair* pair) const {
    while (!swallow && !pair->replies.empty() &&
           pair->replies.front().due <= Clock::now()) {
      std::string& bytes = pair->replies.front().bytes;
      std::size_t size = crumble ? 1 : bytes.size();
      const std::int64_t cut = cut_after;
      if (cut >= 0) {
        if (pair->sent >= cut) return false;
        size = std::min(size, static_cast<std::size_t>(cut - pair->sent));
      }
      const ssize_t sent = send(pair->client, bytes.data(), size, MSG_NOSIGNAL);
      if (sent < 0) return false;
      pair->sent += sent;
      bytes.erase(0, static_cast<std::size_t>(sent));
      if (bytes.empty()) pair->replies.pop_front();
    }
    return true;
  }

  static void end(Pair* pair, bool reset) {
    const linger at_once{1, 0};
    if (reset) {
      setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    if (pair->client >= 0) close(pair->client);
    if (pair->server >= 0) close(pair->server);
  }

  const int server_port_;
  int listener_ = -1;
  int port_ = 0;
  std::list<Pair> pairs_;
  std::atomic<int> accepted_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace limitree::redis
