#include "io/address.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/failure.hpp"

namespace limitree {
namespace {

std::string failure_of(const std::string& text) {
  try {
    ListenAddress::parse(text);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "none";
}

TEST(ListenAddress, ReadsAndWritesTheSameText) {
  for (const char* const text :
       {"127.0.0.1:8081", "[::1]:0", "[2001:db8::1]:65535", "0.0.0.0:1",
        "unix:/run/a b.sock"}) {
    EXPECT_EQ(ListenAddress::parse(text).text(), text);
  }
}

TEST(ListenAddress, WithoutAHostItIsAllAddresses) {
  const std::string text = ListenAddress::parse(":8081").text();
  EXPECT_TRUE(text == "[::]:8081" || text == "0.0.0.0:8081") << text;
}

TEST(ListenAddress, SaysWhatIsWrong) {
  for (const char* const text :
       {"", "8081", "localhost:8081", "127.0.0.1:", "127.0.0.1:65536",
        "127.0.0.1:+1", "127.0.0.1:80x", "::1:80", "[::1]", "[::1:80", "[]:1",
        "256.0.0.1:80"}) {
    EXPECT_EQ(
        failure_of(text),
        "'" + std::string(text) +
            "' is not an address such as 127.0.0.1:8081, [::1]:8081, :8081 "
            "or unix:/path");
  }
}

TEST(ListenAddress, APathHasABoundedSize) {
  EXPECT_EQ(failure_of("unix:"),
            "the path of a Unix socket must have 1 to 107 bytes");
  EXPECT_EQ(failure_of("unix:/" + std::string(107, 'x')),
            "the path of a Unix socket must have 1 to 107 bytes");
}

// How listening there fails.
std::string refusal_of(const ListenAddress& place) {
  try {
    listen_on(place);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "none";
}

// How many of `count` connections each of the listeners gets.
std::vector<int> spread(int count, const std::vector<int>& listeners) {
  const ListenAddress place = ListenAddress::of(listeners.at(0));
  std::vector<Fd> clients;
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(socket(place.family(), SOCK_STREAM, 0));
    EXPECT_EQ(connect(clients.back().get(), place.get(), place.size()), 0);
  }
  std::vector<int> got;
  for (const int listener : listeners) {
    got.push_back(0);
    while (accept_from(listener)) ++got.back();
  }
  return got;
}

TEST(ListenOn, SeveralSocketsShareOneAddress) {
  const Fd first = listen_on(ListenAddress::parse("127.0.0.1:0"));
  const ListenAddress place = ListenAddress::of(first.get());
  EXPECT_NE(place.text(), "127.0.0.1:0");
  const Fd second = listen_beside(place);
  const Fd third = listen_beside(place);
  EXPECT_EQ(ListenAddress::of(third.get()).text(), place.text());
  const std::vector<int> got =
      spread(300, {first.get(), second.get(), third.get()});
  EXPECT_EQ(got[0] + got[1] + got[2], 300);
  for (const int one : got) EXPECT_GT(one, 30);
}

TEST(ListenOn, AnAddressInUseIsNotSharedByAccident) {
  Fd first = listen_on(ListenAddress::parse("127.0.0.1:0"));
  const ListenAddress place = ListenAddress::of(first.get());
  const std::string refusal =
      "listen on " + place.text() + ": address already in use";
  EXPECT_EQ(refusal_of(place), refusal);
  const Fd second = listen_beside(place);
  EXPECT_EQ(refusal_of(place), refusal);
  first.reset();
  EXPECT_EQ(refusal_of(place), refusal);
}

TEST(ListenOn, ConnectionsOfOneThatHasEndedAreNoListener) {
  Fd first = listen_on(ListenAddress::parse("127.0.0.1:0"));
  const ListenAddress place = ListenAddress::of(first.get());
  const Fd client(socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(connect(client.get(), place.get(), place.size()), 0);
  const Fd accepted = accept_from(first.get());
  ASSERT_TRUE(accepted);
  first.reset();
  EXPECT_EQ(refusal_of(place), "none");
}

// Waits for the connection that `client` makes, for some milliseconds.
bool connects(int client, int milliseconds) {
  pollfd waiting{client, POLLOUT, 0};
  return poll(&waiting, 1, milliseconds) == 1;
}

TEST(StopConnections, TakesOnlyThoseThatAreThere) {
  const Fd listener = listen_on(ListenAddress::parse("127.0.0.1:0"));
  const ListenAddress place = ListenAddress::of(listener.get());
  const Fd early(socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(connect(early.get(), place.get(), place.size()), 0);
  stop_connections(listener.get());
  const Fd late(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  EXPECT_EQ(connect(late.get(), place.get(), place.size()), -1);
  EXPECT_FALSE(connects(late.get(), 100));
  // The other one goes on.
  Fd accepted = accept_from(listener.get());
  ASSERT_TRUE(accepted);
  ASSERT_EQ(send(early.get(), "x", 1, 0), 1);
  pollfd readable{accepted.get(), POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 60'000), 1);
}

TEST(StopConnections, ClientsReachWhoListensThen) {
  Fd listener = listen_on(ListenAddress::parse("127.0.0.1:0"));
  const ListenAddress place = ListenAddress::of(listener.get());
  stop_connections(listener.get());
  const Fd client(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  EXPECT_EQ(connect(client.get(), place.get(), place.size()), -1);
  const Fd next = listen_beside(place);
  listener.reset();
  EXPECT_TRUE(connects(client.get(), 60'000));
  EXPECT_TRUE(accept_from(next.get()));
}

TEST(ListenOn, SaysWhereItCannot) {
  EXPECT_EQ(refusal_of(ListenAddress::parse("192.0.2.1:80")),
            "listen on 192.0.2.1:80: cannot assign requested address");
}

class UnixSocket : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/limitree-test-XXXXXX";
    folder_ = mkdtemp(name);
    address_ = ListenAddress::parse("unix:" + folder_ + "/s");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  ListenAddress address_ = ListenAddress::parse("127.0.0.1:0");
};

TEST_F(UnixSocket, AcceptsConnections) {
  const Fd listener = listen_on(address_);
  EXPECT_FALSE(accept_from(listener.get()));
  EXPECT_EQ(errno, EAGAIN);
  const Fd client(socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(connect(client.get(), address_.get(), address_.size()), 0);
  EXPECT_TRUE(accept_from(listener.get()));
}

TEST_F(UnixSocket, AnAbandonedOneIsReplaced) {
  listen_on(address_).reset();
  EXPECT_TRUE(listen_on(address_));
}

TEST_F(UnixSocket, AnotherFileIsNot) {
  std::ofstream(address_.unix_path()) << "text";
  EXPECT_EQ(refusal_of(address_),
            "listen on " + address_.text() + ": address already in use");
  EXPECT_EQ(std::filesystem::file_size(address_.unix_path()), 4u);
}

TEST_F(UnixSocket, OneInUseIsNot) {
  const Fd first = listen_on(address_);
  EXPECT_THROW(listen_on(address_), Failure);
  const Fd client(socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(connect(client.get(), address_.get(), address_.size()), 0);
}

TEST(AddressOf, IsWhatParseReads) {
  EXPECT_EQ(address_of("", 1), ":1");
  EXPECT_EQ(address_of("127.0.0.1", 8081), "127.0.0.1:8081");
  EXPECT_EQ(address_of("::1", 0), "[::1]:0");
  const std::string local = address_of("localhost", 7);
  EXPECT_TRUE(local == "127.0.0.1:7" || local == "[::1]:7") << local;
  EXPECT_THROW(address_of("no such host", 1), Failure);
}

TEST(ParseEndpoint, TakesAHostAndAPort) {
  EXPECT_EQ(parse_endpoint("localhost:18000"),
            (Endpoint{"localhost", 18'000, ""}));
  EXPECT_EQ(parse_endpoint("[::1]:1"), (Endpoint{"::1", 1, ""}));
  for (const char* text : {"", "localhost", ":1", "localhost:", "::1:1",
                           "localhost:65536", "localhost:-1", "a:1 "}) {
    try {
      parse_endpoint(text);
      ADD_FAILURE() << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.what(), "'" + std::string(text) +
                                    "' is not a place such as localhost:18000");
    }
  }
}

}  // namespace
}  // namespace limitree
