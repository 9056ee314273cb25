#include "config/xds_client.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace limitree::server::xds_client_test {
namespace {

using LookUp = decltype(getaddrinfo);

LookUp* system_resolver() {
  static auto* const function =
      reinterpret_cast<LookUp*>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return function;
}

}  // namespace
}  // namespace limitree::server::xds_client_test

// Replaces the system's resolver: "two.test" has two addresses.
extern "C" int getaddrinfo(const char* host, const char* service,
                           const addrinfo* hints, addrinfo** result) {
  namespace test = limitree::server::xds_client_test;
  if (std::string_view(host) != "two.test" ||
      (hints->ai_flags & AI_NUMERICHOST) != 0) {
    return test::system_resolver()(host, service, hints, result);
  }
  const int error =
      test::system_resolver()("127.0.0.2", service, hints, result);
  return error != 0 ? error
                    : test::system_resolver()("127.0.0.1", service, hints,
                                              &(*result)->ai_next);
}

namespace limitree::server::xds_client_test {
namespace {

// A server that ends each connection at once.
class Refusing final : public Watcher {
 public:
  // Listens on `port`, or on any if it is 0.
  Refusing(Loop* loop, const char* address, std::uint16_t port,
           std::vector<std::string>* log)
      : loop_(loop),
        address_(address),
        log_(log),
        fd_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET, address, &place.sin_addr), 1);
    socklen_t size = sizeof place;
    auto* const any = reinterpret_cast<sockaddr*>(&place);
    EXPECT_EQ(bind(fd_.get(), any, size), 0);
    EXPECT_EQ(listen(fd_.get(), 8), 0);
    EXPECT_EQ(getsockname(fd_.get(), any, &size), 0);
    port_ = ntohs(place.sin_port);
    loop_->add(fd_.get(), EPOLLIN, this);
  }
  ~Refusing() { loop_->remove(fd_.get(), this); }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;

  std::uint16_t port() const { return port_; }

  void on_ready(std::uint32_t /*events*/) override {
    const Fd connection(accept(fd_.get(), nullptr, nullptr));
    if (connection && log_->size() < 4) log_->push_back(address_);
    if (log_->size() == 4) loop_->stop();
  }

 private:
  Loop* loop_;
  std::string address_;
  std::vector<std::string>* log_;
  Fd fd_;
  std::uint16_t port_ = 0;
};

class Deaf final : public XdsListener {
 public:
  std::string take(std::vector<SourceFile> /*files*/) override { return ""; }
  void refuse(const std::string& /*why*/) override {}
  void lost(const std::string& /*why*/) override {}
};

// Such as a proxy whose own server has gone.
TEST(XdsClient, GoesOnToTheNextAddressIfOneConnectsAndDoesNotServe) {
  Loop loop;
  std::vector<std::string> log;
  const Refusing one(&loop, "127.0.0.1", 0, &log);
  const Refusing two(&loop, "127.0.0.2", one.port(), &log);
  XdsSettings settings;
  settings.server = "two.test:" + std::to_string(one.port());
  settings.first_wait = settings.last_wait = kMillisecond;
  Deaf listener;
  const XdsClient client(&loop, &settings, &listener);
  loop.run();
  EXPECT_EQ(log, (std::vector<std::string>{"127.0.0.2", "127.0.0.1",
                                           "127.0.0.2", "127.0.0.1"}));
}

}  // namespace
}  // namespace limitree::server::xds_client_test
