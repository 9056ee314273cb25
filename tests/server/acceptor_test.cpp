#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "connection_set.hpp"
#include "core/sanitizers.hpp"
#include "io/address.hpp"

namespace limitree::server {
namespace {

// Bounds the descriptors of the process to those that it has.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const Fd next(dup(0));
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next.get());
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) +
         static_cast<double>(used.tv_nsec) / 1e9;
}

class AcceptorTest : public testing::Test {
 protected:
  Fd connect() {
    return Fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  }
  void start(const Fd& client) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ASSERT_EQ(
        getsockname(listener_fd_, reinterpret_cast<sockaddr*>(&address), &size),
        0);
    const int result =
        ::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size);
    ASSERT_TRUE(result == 0 || errno == EINPROGRESS);
  }
  void run_for(Duration time) {
    Timer end(&loop_, [this] { loop_.stop(); });
    end.set(after(steady_now(), time));
    loop_.run();
  }
  std::unique_ptr<Acceptor> acceptor(Permits* permits) {
    Fd listener = listen_on(ListenAddress::parse("127.0.0.1:0"));
    listener_fd_ = listener.get();
    return std::make_unique<Acceptor>(&loop_, std::move(listener), permits,
                                      [this](Fd fd, Permit permit) {
                                        taken_.push_back(std::move(fd));
                                        permits_.push_back(std::move(permit));
                                      });
  }

  Loop loop_;
  int listener_fd_ = -1;
  std::vector<Fd> taken_;
  Permits room_for_one_{1};
  std::vector<Permit> permits_;
};

TEST_F(AcceptorTest, TakesConnections) {
  const auto acceptor = this->acceptor(nullptr);
  const Fd client = connect();
  start(client);
  run_for(100 * kMillisecond);
  EXPECT_EQ(taken_.size(), 1u);
}

// A listening socket stays ready, and would keep the loop busy.
TEST_F(AcceptorTest, WithoutDescriptorsItWaits) {
  if (kAddressSanitized) GTEST_SKIP() << "it needs descriptors, too";
  const auto acceptor = this->acceptor(nullptr);
  const Fd client = connect();
  {
    const NoDescriptors none;
    start(client);
    const double before = cpu_seconds();
    run_for(500 * kMillisecond);
    EXPECT_LT(cpu_seconds() - before, 0.05);
    EXPECT_TRUE(taken_.empty());
  }
  run_for(300 * kMillisecond);
  EXPECT_EQ(taken_.size(), 1u);
}

TEST_F(AcceptorTest, ClosesConnectionsWithoutASeat) {
  const auto acceptor = this->acceptor(&room_for_one_);
  const Fd first = connect();
  start(first);
  run_for(100 * kMillisecond);
  ASSERT_EQ(taken_.size(), 1u);
  const Fd second = connect();
  start(second);
  run_for(100 * kMillisecond);
  EXPECT_EQ(taken_.size(), 1u);
  char byte = 0;
  EXPECT_EQ(recv(second.get(), &byte, 1, 0), 0);
  permits_.clear();
  const Fd third = connect();
  start(third);
  run_for(100 * kMillisecond);
  EXPECT_EQ(taken_.size(), 2u);
}

}  // namespace
}  // namespace limitree::server
