#include "io/poller.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

namespace limitree {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

bool readable(const Poller& poller, int wait_ms) {
  pollfd watched{poller.fd(), POLLIN, 0};
  return poll(&watched, 1, wait_ms) == 1;
}

// The owners of the descriptors that are ready.
std::vector<void*> ready(Poller* poller) {
  std::array<Poller::Ready, 8> all;
  const std::size_t count = poller->poll(all);
  std::vector<void*> owners;
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i].owner != nullptr) owners.push_back(all[i].owner);
  }
  return owners;
}

struct SocketPair {
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0); }
  ~SocketPair() { end(); }
  void end() {
    for (int& fd : ends) {
      if (fd != -1) close(fd);
      fd = -1;
    }
  }
  int ends[2];
};

TEST(Poller, IsWokenFromAnyThreadUntilItHasLooked) {
  Poller poller;
  EXPECT_FALSE(readable(poller, 0));
  std::thread([&] { poller.wake(); }).join();
  EXPECT_TRUE(readable(poller, 1000));
  EXPECT_TRUE(ready(&poller).empty());
  EXPECT_FALSE(readable(poller, 0));
  poller.wake();
  EXPECT_TRUE(readable(poller, 1000));
}

TEST(Poller, IsRemindedOnce) {
  Poller poller;
  const Monotonic start = steady_now();
  poller.set_timer(start + 20ms);
  EXPECT_TRUE(readable(poller, 5000));
  EXPECT_GE(steady_now() - start, 20ms);
  EXPECT_TRUE(ready(&poller).empty());
  EXPECT_FALSE(readable(poller, 30));
}

TEST(Poller, TheLatestTimerIsTheOne) {
  Poller poller;
  poller.set_timer(steady_now() + 10s);
  poller.set_timer(steady_now() + 10ms);
  EXPECT_TRUE(readable(poller, 5000));
  EXPECT_TRUE(ready(&poller).empty());
  poller.set_timer(steady_now() - 1s);  // at once
  EXPECT_TRUE(readable(poller, 5000));
}

TEST(Poller, TellsWhoseDescriptorIsReady) {
  Poller poller;
  SocketPair pair;
  int owner = 0;
  ASSERT_TRUE(poller.watch(pair.ends[0], Poller::kRead, &owner));
  EXPECT_FALSE(readable(poller, 0));
  ASSERT_TRUE(
      poller.watch(pair.ends[0], Poller::kRead | Poller::kWrite, &owner));
  EXPECT_EQ(ready(&poller), std::vector<void*>{&owner});
  ASSERT_TRUE(poller.watch(pair.ends[0], Poller::kRead, &owner));
  EXPECT_TRUE(ready(&poller).empty());
  ASSERT_EQ(write(pair.ends[1], "a", 1), 1);
  EXPECT_TRUE(readable(poller, 1000));
  EXPECT_EQ(ready(&poller), std::vector<void*>{&owner});
  // It stays ready until somebody reads.
  EXPECT_TRUE(readable(poller, 0));
}

// By then the number may belong to another file.
TEST(Poller, ForgetsADescriptorThatWasClosed) {
  Poller poller;
  int owner = 0;
  for (int i = 0; i < 3; ++i) {
    SocketPair pair;
    ASSERT_TRUE(
        poller.watch(pair.ends[0], Poller::kRead | Poller::kWrite, &owner));
    EXPECT_EQ(ready(&poller), std::vector<void*>{&owner});
    pair.end();
    EXPECT_TRUE(ready(&poller).empty());
  }
}

TEST(Poller, RefusesWhatIsNoDescriptor) {
  Poller poller;
  EXPECT_FALSE(poller.watch(-1, Poller::kRead, &poller));
}

TEST(Poller, LeavesTheRestForTheNextTime) {
  Poller poller;
  SocketPair pairs[12];
  for (SocketPair& pair : pairs) {
    ASSERT_TRUE(
        poller.watch(pair.ends[0], Poller::kRead | Poller::kWrite, &pair));
  }
  EXPECT_EQ(ready(&poller).size(), 8u);
  EXPECT_TRUE(readable(poller, 0));
}

}  // namespace
}  // namespace limitree
