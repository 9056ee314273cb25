#include "io/dialer.hpp"

#include <netdb.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "io/failure.hpp"
#include "io/lookup.hpp"
#include "io/timer.hpp"

namespace limitree {

namespace {

// While there is no room for a look-up.
constexpr Duration kBetweenTries = 5 * kMillisecond;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

bool read_path(const std::string& path, SocketAddress* address) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  if (path.size() >= sizeof target.sun_path) return false;
  path.copy(target.sun_path, path.size());
  std::memcpy(&address->bytes, &target, sizeof target);
  address->size = sizeof target;
  return true;
}

// How many addresses are tried last instead of first.  An address that never
// answers uses up the whole timeout; so when an attempt is given up, the next
// one begins with another address.  The whole process shares this number:
// anything finer would have to remember addresses.
std::atomic<std::size_t> skipped_addresses{0};

}  // namespace

std::string look_up(const Endpoint& endpoint, int type, int flags,
                    std::vector<SocketAddress>* addresses) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = type;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(),
                  &hints, &found);
  if (error == EAI_SYSTEM) return error_text(errno);
  if (error != 0) return as_clause(gai_strerror(error));
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress& address = addresses->emplace_back();
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  return {};
}

// ---- Resolver ---------------------------------------------------------------

struct Resolver::Addresses final : Lookup {
  explicit Addresses(Endpoint of) : endpoint(std::move(of)) {}

  std::string ask() override {
    return look_up(endpoint, SOCK_STREAM, 0, &found);
  }

  const Endpoint endpoint;
  std::vector<SocketAddress> found;
};

Resolver::Resolver(const Endpoint& endpoint) {
  if (!endpoint.socket.empty()) {
    if (!read_path(endpoint.socket, &addresses_.emplace_back())) {
      addresses_.clear();
      detail_ = "the path of the socket is too long";
    }
    return;
  }
  if (!look_up(endpoint, SOCK_STREAM, AI_NUMERICHOST, &addresses_).empty()) {
    lookup_ = std::make_shared<Addresses>(endpoint);
    start_lookup();
  }
}

Resolver::~Resolver() = default;

void Resolver::start_lookup() {
  detail_ = Lookup::start(lookup_);
  if (detail_ == Lookup::kNoRoom) {
    if (!room_) room_.emplace();
    if (room_->fd() >= 0) return room_->set_timer(steady_now() + kBetweenTries);
  }
  room_.reset();
  if (!detail_.empty()) lookup_.reset();
}

int Resolver::fd() const {
  if (lookup_ == nullptr) return -1;
  return room_ ? room_->fd() : lookup_->fd();
}

bool Resolver::done() {
  if (room_) start_lookup();
  if (lookup_ == nullptr) return true;
  if (room_ || !lookup_->done()) return false;
  detail_ = lookup_->detail();
  if (detail_.empty()) addresses_ = std::move(lookup_->found);
  lookup_.reset();
  return true;
}

void Resolver::abandon_after_fork() {
  if (lookup_ == nullptr) return;
  room_.reset();
  lookup_->abandon_after_fork();
  // If the thread still held its share when the process was forked, the rest is
  // never freed: it may be half written, and the child does not have that
  // thread.
  lookup_.reset();
}

// ---- Dialer -----------------------------------------------------------------

Dialer::Dialer(const Endpoint& endpoint, std::size_t first_address)
    : resolver_(std::in_place, endpoint), first_address_(first_address) {
  resolve();
}

Dialer::~Dialer() {
  if (state_ == State::kConnecting) {
    skipped_addresses.store(skip_ + tried_, std::memory_order_relaxed);
  }
}

int Dialer::fd() const {
  return state_ == State::kResolving ? resolver_->fd() : socket_.get();
}

void Dialer::run() {
  if (state_ == State::kResolving) {
    resolve();
  } else if (state_ == State::kConnecting) {
    check();
  }
}

Fd Dialer::take_socket() {
  return state_ == State::kConnected ? std::move(socket_) : Fd();
}

void Dialer::resolve() {
  if (!resolver_->done()) return;
  addresses_ = resolver_->addresses();
  if (addresses_.empty()) return fail(resolver_->detail());
  resolver_.reset();
  skip_ = skipped_addresses.load(std::memory_order_relaxed);
  try_next(0);
}

void Dialer::check() {
  const int error = connect_result(socket_.get());
  if (error == EINPROGRESS) return;
  if (error == 0) {
    state_ = State::kConnected;
    return;
  }
  socket_.reset();
  try_next(error);
}

// Starts with the next address that does not fail at once; `error` is the
// outcome of the previous one.
void Dialer::try_next(int error) {
  while (tried_ < addresses_.size()) {
    const std::size_t index = first_address_ + skip_ + tried_++;
    const SocketAddress& address = addresses_[index % addresses_.size()];
    socket_ = start_connecting(address);
    if (socket_) {
      // A Unix socket is connected by now.
      state_ = address.bytes.ss_family == AF_UNIX ? State::kConnected
                                                  : State::kConnecting;
      return;
    }
    error = errno;
  }
  fail(error_text(error));
}

void Dialer::fail(std::string detail) {
  state_ = State::kFailed;
  detail_ = std::move(detail);
}

void Dialer::abandon_after_fork() {
  if (resolver_.has_value()) resolver_->abandon_after_fork();
  socket_.reset();
  fail("the attempt is the parent's");
}

}  // namespace limitree
