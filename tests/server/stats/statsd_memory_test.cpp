// Statistics when there is no memory: a program with its own operator new.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <future>
#include <new>
#include <set>
#include <sstream>
#include <string>

#include "io/fd.hpp"
#include "stats/statsd_reporter.hpp"

namespace {

constexpr std::size_t kLarge = 1'000'000;
// How many large blocks there have been, and which of them is not given.
std::atomic<int> large_blocks{0};
std::atomic<int> missing_block{-1};

}  // namespace

// Inlined, new and delete look mismatched to gcc.
__attribute__((noinline)) void* operator new(std::size_t size) {
  const bool is_missing =
      size >= kLarge && large_blocks.fetch_add(1) == missing_block.load();
  void* const place = is_missing ? nullptr : std::malloc(size);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}
// Used by std::stable_sort, whose block operator delete frees.
__attribute__((noinline)) void* operator new(std::size_t size,
                                             const std::nothrow_t&) noexcept {
  return std::malloc(size);
}
__attribute__((noinline)) void operator delete(void* place) noexcept {
  std::free(place);
}
__attribute__((noinline)) void operator delete(void* place,
                                               std::size_t) noexcept {
  std::free(place);
}

namespace limitree::server {
namespace {

// Several datagrams, and then a name that needs a large block.
Snapshot counts() {
  Snapshot snapshot;
  for (int i = 0; i < 100; ++i) {
    snapshot.add_limit("domain.key_" + std::to_string(i),
                       LimitValues(limit_counters().size(), 1));
  }
  snapshot.gauges[std::string(kLarge, 'g')] = 1;
  return snapshot;
}

TEST(StatsdReporter, SendsNothingTwiceIfMemoryEndsInTheMiddle) {
  const Fd server(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  ASSERT_EQ(bind(server.get(), address, size), 0);
  ASSERT_EQ(getsockname(server.get(), address, &size), 0);
  StatsSettings settings;
  settings.host = "127.0.0.1";
  settings.port = ntohs(place.sin_port);
  settings.format = StatsFormat::kStatsd;
  settings.protocol = StatsProtocol::kUdp;
  settings.flush_interval = kMillisecond;

  const Snapshot all = counts();
  large_blocks = 0;
  static_cast<void>(all.since({}));
  const int for_difference = large_blocks;
  std::promise<std::string> trouble;
  std::promise<void> relief;
  int messages = 0;
  {
    const auto reporter = report_to_statsd(
        settings,
        [&, reads = 0]() mutable {
          Snapshot now = all;
          if (++reads == 1) missing_block = large_blocks + for_difference;
          return now;
        },
        [&](const std::string& message) {
          ++messages;
          if (messages == 1) trouble.set_value(message);
          if (messages == 2) relief.set_value();
        },
        std::make_shared<std::atomic<std::uint64_t>>());
    EXPECT_EQ(trouble.get_future().get(),
              "cannot send statistics: std::bad_alloc");
    relief.get_future().get();
  }

  std::set<std::string> different;
  std::size_t lines = 0;
  std::array<char, 64 * 1024> bytes;
  ssize_t got = 0;
  while ((got = recv(server.get(), bytes.data(), bytes.size(), 0)) > 0) {
    std::istringstream text(
        std::string(bytes.data(), static_cast<std::size_t>(got)));
    for (std::string line; std::getline(text, line); ++lines) {
      different.insert(line);
    }
  }
  EXPECT_GT(different.size(), 100u);
  EXPECT_EQ(lines, different.size());
}

}  // namespace
}  // namespace limitree::server
