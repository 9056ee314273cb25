#include "core/store/redis/fake_server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace limitree::redis {

namespace {

// Nothing that works as it should takes this long.
constexpr int kPatienceMs = 10'000;

const std::string kHost = "127.0.0.1";

sockaddr_in socket_address(const std::string& text, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Returns a socket that listens on *port.  If *port is 0, the system chooses a
// port and *port is set to it.
int listen_on(const std::string& text, int backlog, int* port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = socket_address(text, *port);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || bind(listener, any, size) != 0 ||
      ::listen(listener, backlog) != 0 ||
      getsockname(listener, any, &size) != 0) {
    throw std::runtime_error("no port to listen on");
  }
  *port = ntohs(address.sin_port);
  return listener;
}

Endpoint endpoint_of(const std::string& host, int port) {
  Endpoint endpoint;
  endpoint.host = host;
  endpoint.port = static_cast<std::uint16_t>(port);
  return endpoint;
}

}  // namespace

// ---- Peer -------------------------------------------------------------------

bool Peer::wait(short events) {
  pollfd watched[] = {{socket_, events, 0}, {stop_, POLLIN, 0}};
  if (poll(watched, 2, kPatienceMs) == 0) {
    ADD_FAILURE() << "timed out waiting for the other side";
    return false;
  }
  return watched[1].revents == 0;
}

// Fewer bytes if there are no more.
std::string Peer::receive(std::size_t count) {
  std::string received;
  while (received.size() < count && wait(POLLIN)) {
    std::string chunk(count - received.size(), '\0');
    const ssize_t size = recv(socket_, chunk.data(), chunk.size(), 0);
    if (size <= 0) break;
    received.append(chunk, 0, static_cast<std::size_t>(size));
  }
  return received;
}

void Peer::expect(std::string_view bytes) {
  const std::string received = receive(bytes.size());
  if (received.size() < bytes.size() && !wait(POLLIN)) return;
  EXPECT_EQ(received, bytes);
}

std::string Peer::receive_line() {
  std::string line;
  while (!line.ends_with('\n')) {
    const std::string byte = receive(1);
    if (byte.empty()) return {};
    line += byte;
  }
  return line.substr(0, line.find_last_not_of("\r\n") + 1);
}

void Peer::skip(std::size_t count) { receive(count); }

void Peer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait(POLLOUT)) return;
    const ssize_t size = ::send(socket_, bytes.data(), bytes.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size <= 0) return;  // the other side has gone
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

void Peer::send_bytewise(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) send(bytes.substr(i, 1));
}

void Peer::wait_for_end() {
  char bytes[4096];
  while (wait(POLLIN) && recv(socket_, bytes, sizeof bytes, 0) > 0) continue;
}

void Peer::hang() {
  pollfd stop{stop_, POLLIN, 0};
  while (poll(&stop, 1, -1) < 0 && errno == EINTR) continue;
}

void Peer::close() {
  if (socket_ < 0) return;
  // Closing a socket with unread data would send a reset.
  char bytes[4096];
  while (recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
  ::close(std::exchange(socket_, -1));
}

void Peer::end_sending() { shutdown(socket_, SHUT_WR); }

void Peer::reset() {
  const linger none{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  ::close(std::exchange(socket_, -1));
}

// ---- FakeServer -------------------------------------------------------------

std::function<void(Peer&)> answering(std::string request, std::string reply) {
  return [request = std::move(request), reply = std::move(reply)](Peer& peer) {
    peer.expect(request);
    peer.send(reply);
    peer.wait_for_end();
  };
}

FakeServer::FakeServer(std::function<void(Peer&)> script)
    : FakeServer(std::vector{std::move(script)}) {}

FakeServer::FakeServer(std::vector<std::function<void(Peer&)>> scripts)
    : scripts_(std::move(scripts)),
      listener_(listen_on(kHost, 128, &port_)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      accepter_([this] { accept_all(); }) {}

FakeServer::~FakeServer() {
  eventfd_write(stop_, 1);
  accepter_.join();
  for (std::thread& peer : peers_) peer.join();
  close(listener_);
  close(stop_);
}

Endpoint FakeServer::endpoint() const { return endpoint_of(kHost, port_); }

int FakeServer::connections() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(peers_.size());
}

void FakeServer::accept_all() {
  while (true) {
    pollfd watched[] = {{listener_, POLLIN, 0}, {stop_, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) return;
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex_);
    const auto& script = scripts_[std::min(peers_.size(), scripts_.size() - 1)];
    peers_.emplace_back([this, socket, &script] {
      Peer peer(socket, stop_);
      script(peer);
      peer.close();
    });
  }
}

// ---- DeafServer -------------------------------------------------------------

DeafServer::DeafServer(const std::string& address, int port)
    : address_(address), port_(port), listener_(listen_on(address, 0, &port_)) {
  // A queue of length 0 takes one or two connections.  Further ones get no
  // answer.
  const sockaddr_in target = socket_address(address_, port_);
  while (true) {
    const int one =
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (one < 0) throw std::runtime_error("no socket");
    queued_.push_back(one);
    connect(one, reinterpret_cast<const sockaddr*>(&target), sizeof target);
    pollfd watched{one, POLLOUT, 0};
    if (poll(&watched, 1, 100) == 0) break;
  }
}

DeafServer::~DeafServer() {
  for (const int one : queued_) close(one);
  close(listener_);
}

Endpoint DeafServer::endpoint() const { return endpoint_of(address_, port_); }

}  // namespace limitree::redis
