// A port of 127.0.0.1 that stays reserved for a test while nothing listens on
// it.

#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>
#include <utility>

namespace limitree {

// Tests run in parallel and restart servers on the same port, so it is not
// enough to find a free port and release it.  Instead, a socket that never
// listens stays bound to the port.  Linux lets another socket bind and listen
// on that port as long as both set SO_REUSEADDR, as servers do.  Another
// FreePort first binds without it, so it fails there and tries another port.
class FreePort {
 public:
  // A node of a Redis Cluster also listens on its port + 10000.  Both ports
  // stay below the range from which the system takes the ports of clients.
  static constexpr int kFirst = 10'000;
  static constexpr int kLast = 21'000;
  static constexpr int kBusOffset = 10'000;

  FreePort() {
    std::random_device random;
    std::uniform_int_distribution<int> any(kFirst, kLast);
    for (int attempt = 0; attempt < 1000; ++attempt) {
      number_ = any(random);
      if (take(number_, &sockets_[0]) &&
          take(number_ + kBusOffset, &sockets_[1])) {
        return;
      }
      release();
    }
    throw std::runtime_error("no free port");
  }
  ~FreePort() { release(); }
  FreePort(FreePort&& other) noexcept { *this = std::move(other); }
  FreePort& operator=(FreePort&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(sockets_, other.sockets_);
    return *this;
  }

  int number() const { return number_; }

 private:
  static bool take(int port, int* held) {
    *held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<in_port_t>(port));
    if (bind(*held, reinterpret_cast<sockaddr*>(&address), sizeof address)) {
      return false;
    }
    const int yes = 1;
    return setsockopt(*held, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0;
  }

  void release() {
    for (int& held : sockets_) {
      if (held >= 0) close(held);
      held = -1;
    }
  }

  int number_ = 0;
  int sockets_[2] = {-1, -1};
};

}  // namespace limitree
