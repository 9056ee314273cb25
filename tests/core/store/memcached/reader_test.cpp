#include "store/memcached/reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace limitree::memcached {
namespace {

using Kind = Response::Kind;

std::vector<Response> all_of(Reader* reader) {
  std::vector<Response> all;
  while (std::optional<Response> one = reader->next()) all.push_back(*one);
  return all;
}

TEST(MemcachedReader, ReadsEveryResponse) {
  Reader reader;
  reader.feed(
      "VA 5 c77\r\na\r\nbc\r\nHD\r\nHD c18446744073709551615\r\nEN\r\nNS c0\r\n"
      "EX\r\nNF\r\nMN\r\nSTORED\r\nVA 0 c1\r\n\r\nERROR\r\n"
      "CLIENT_ERROR bad command line format\r\n"
      "SERVER_ERROR out of memory storing object\r\n");
  const std::vector<Response> all = all_of(&reader);
  const std::vector<Kind> kinds = {
      Kind::kValue,     Kind::kDone,   Kind::kDone,     Kind::kMiss,
      Kind::kNotStored, Kind::kExists, Kind::kNotFound, Kind::kDone,
      Kind::kDone,      Kind::kValue,  Kind::kError,    Kind::kError,
      Kind::kError};
  ASSERT_EQ(all.size(), kinds.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].kind, kinds[i]) << i;
  }
  EXPECT_EQ(all[0].text, "a\r\nbc");
  EXPECT_EQ(all[0].cas, 77U);
  EXPECT_EQ(all[2].cas, UINT64_MAX);
  EXPECT_EQ(all[9].text, "");
  EXPECT_EQ(all[12].text, "SERVER_ERROR out of memory storing object");
  EXPECT_FALSE(reader.failed());
}

TEST(MemcachedReader, ReadsTheSameByteByByte) {
  Reader reader;
  std::vector<Response> all;
  for (const char c : std::string("VA 4 c7\r\n\r\n\r\n\r\nHD c8\r\nEN\r\n")) {
    reader.feed({&c, 1});
    for (Response& one : all_of(&reader)) all.push_back(std::move(one));
  }
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].text, "\r\n\r\n");
  EXPECT_EQ(all[1].cas, 8U);
  EXPECT_EQ(all[2].kind, Kind::kMiss);
}

std::string failure_of_bytes(const std::string& bytes) {
  Reader reader;
  reader.feed(bytes);
  all_of(&reader);
  const std::string detail = reader.detail();
  reader.feed("HD\r\n");
  EXPECT_TRUE(detail.empty() || !reader.next()) << "it stays failed";
  return detail;
}

TEST(MemcachedReader, RefusesWhatIsNoResponse) {
  for (const std::string bytes :
       {"+OK\r\n", "\r\n", "HTTP/1.1 400 Bad Request\r\n", "VA\r\n", "VA x\r\n",
        "VA -1 c1\r\n", "HD cx\r\n", "VA 18446744073709551616\r\n", "hd\r\n"}) {
    EXPECT_EQ(failure_of_bytes(bytes), "not a response of memcached") << bytes;
  }
  EXPECT_EQ(failure_of_bytes("VA 2 c1\r\nabcd"), "a value without an end");
}

// What it keeps is bounded, whatever is announced.
TEST(MemcachedReader, RefusesWhatIsTooLarge) {
  EXPECT_EQ(failure_of_bytes("VA 2097153 c1\r\n"), "a value that is too large");
  EXPECT_EQ(failure_of_bytes("VA 2097152 c1\r\n"), "");
  EXPECT_EQ(failure_of_bytes(std::string(2048, 'E')),
            "a line that does not end");
  EXPECT_EQ(failure_of_bytes(std::string(2047, 'E')), "");
}

}  // namespace
}  // namespace limitree::memcached
