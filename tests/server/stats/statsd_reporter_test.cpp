#include "stats/statsd_reporter.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <future>
#include <sstream>
#include <vector>

#include "io/fd.hpp"

namespace limitree::server {
namespace {

// A server of StatsD on a port of its own; over TCP it does not listen yet.
struct Server {
  explicit Server(int type) : fd(socket(AF_INET, type, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    EXPECT_EQ(bind(fd.get(), address, size), 0);
    EXPECT_EQ(getsockname(fd.get(), address, &size), 0);
    settings.port = ntohs(place.sin_port);
    settings.host = "127.0.0.1";
    settings.format = StatsFormat::kStatsd;
    settings.protocol =
        type == SOCK_DGRAM ? StatsProtocol::kUdp : StatsProtocol::kTcp;
    settings.flush_interval = kMillisecond;
  }

  // A datagram, or what one read of a connection gives.
  std::string receive(int from) const {
    std::array<char, 64 * 1024> bytes;
    const ssize_t size = recv(from, bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  Fd fd;
  StatsSettings settings;
};

using Lost = std::atomic<std::uint64_t>;

// Ten more errors each time.
std::function<Snapshot()> growing() {
  return [errors = std::uint64_t{0}]() mutable {
    Snapshot snapshot;
    snapshot.at(ServiceCounter::kRedisError) = errors += 10;
    return snapshot;
  };
}

TEST(StatsdReporter, SendsDifferences) {
  const Server server(SOCK_DGRAM);
  const auto reporter = report_to_statsd(
      server.settings, growing(), [](const std::string&) {},
      std::make_shared<Lost>());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(server.receive(server.fd.get()),
              "ratelimit.service.call.should_rate_limit.redis_error:10|c\n");
  }
}

TEST(StatsdReporter, WaitsForAConnectionAndSendsAllThen) {
  const Server server(SOCK_STREAM);
  std::promise<std::string> trouble;
  std::promise<std::string> relief;
  int messages = 0;
  const auto reporter = report_to_statsd(
      server.settings, growing(),
      [&](const std::string& message) {
        if (++messages == 1) trouble.set_value(message);
        if (messages == 2) relief.set_value(message);
      },
      std::make_shared<Lost>());
  EXPECT_EQ(trouble.get_future().get(),
            "cannot send statistics: 127.0.0.1:" +
                std::to_string(server.settings.port) + ": connection refused");
  ASSERT_EQ(listen(server.fd.get(), 1), 0);
  EXPECT_EQ(relief.get_future().get(), "the statistics are sent again");
  const Fd connection(accept(server.fd.get(), nullptr, nullptr));
  const std::string text = server.receive(connection.get());
  const std::string name =
      "ratelimit.service.call.should_rate_limit.redis_error:";
  ASSERT_TRUE(text.starts_with(name)) << text;
  EXPECT_GT(std::stoi(text.substr(name.size())), 10);
}

TEST(StatsdReporter, GoesOnWhenCountsCannotBeRead) {
  const Server server(SOCK_DGRAM);
  std::promise<std::string> trouble;
  std::promise<std::string> relief;
  int reads = 0;
  const auto reporter = report_to_statsd(
      server.settings,
      [&, read = growing()] {
        if (++reads == 1) throw std::runtime_error("no memory");
        return read();
      },
      [&](const std::string& message) {
        (message.starts_with("cannot") ? trouble : relief).set_value(message);
      },
      std::make_shared<Lost>());
  EXPECT_EQ(trouble.get_future().get(), "cannot send statistics: no memory");
  EXPECT_EQ(relief.get_future().get(), "the statistics are sent again");
}

TEST(StatsdReporter, SendsTheLastCountsAtTheEnd) {
  Server server(SOCK_DGRAM);
  server.settings.flush_interval = 3'600 * kOneSecond;
  {
    const auto reporter = report_to_statsd(
        server.settings, growing(), [](const std::string&) {},
        std::make_shared<Lost>());
  }
  EXPECT_EQ(server.receive(server.fd.get()),
            "ratelimit.service.call.should_rate_limit.redis_error:10|c\n");
}

Snapshot make_large() {
  Snapshot snapshot;
  for (int i = 0; i < 200; ++i) {
    snapshot.add_limit("web.key_" + std::to_string(i), {1});
  }
  snapshot.add_limit("web." + std::string(2'000, 'x'), {1});
  return snapshot;
}

TEST(StatsdReporter, DatagramsHaveWholeLinesAndABound) {
  Server server(SOCK_DGRAM);
  server.settings.flush_interval = 3'600 * kOneSecond;
  const auto lost = std::make_shared<Lost>();
  {
    const auto reporter = report_to_statsd(
        server.settings, make_large, [](const std::string&) {}, lost);
  }
  EXPECT_EQ(*lost, 1u);  // the line that is too long
  std::size_t lines = 0;
  while (lines < 200) {
    const std::string datagram = server.receive(server.fd.get());
    EXPECT_LE(datagram.size(), 1'432u);
    std::istringstream stream(datagram);
    for (std::string line; std::getline(stream, line); ++lines) {
      EXPECT_TRUE(line.ends_with(".total_hits:1|c")) << line;
    }
  }
  EXPECT_EQ(lines, 200u);
}

}  // namespace
}  // namespace limitree::server
