#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cerrno>
#include <string>

#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree {
namespace {

TEST(AddressOf, IsWhatParseReads) {
  EXPECT_EQ(address_of("", 1), ":1");
  EXPECT_EQ(address_of("127.0.0.1", 8081), "127.0.0.1:8081");
  EXPECT_EQ(address_of("::1", 0), "[::1]:0");
  const std::string local = address_of("localhost", 7);
  EXPECT_TRUE(local == "127.0.0.1:7" || local == "[::1]:7") << local;
  EXPECT_THROW(address_of("no such host", 1), Failure);
}

TEST(SplitPlace, TakesAHostAndAPort) {
  using Place = std::pair<std::string, std::string>;
  EXPECT_EQ(split_place("localhost:18000"), Place("localhost", "18000"));
  EXPECT_EQ(split_place("[::1]:1"), Place("::1", "1"));
  for (const char* text : {"", "localhost", ":1", "localhost:", "::1:1"}) {
    try {
      split_place(text);
      ADD_FAILURE() << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.what(), "'" + std::string(text) +
                                    "' is no place such as localhost:18000");
    }
  }
}

TEST(ConnectTo, ConnectsToWhoListens) {
  const Fd listener = listen_on(ListenAddress::parse("127.0.0.1:0"));
  const std::string place = ListenAddress::of(listener.get()).text();
  const Fd made = connect_to("127.0.0.1", split_place(place).second, 3);
  Fd accepted;
  for (int i = 0; i < 1000 && !accepted; ++i) {
    accepted = accept_from(listener.get());
    if (!accepted) usleep(1000);
  }
  EXPECT_TRUE(accepted);
  EXPECT_THROW(connect_to("127.0.0.1", "no port", 0), Failure);
}

}  // namespace
}  // namespace limitree
