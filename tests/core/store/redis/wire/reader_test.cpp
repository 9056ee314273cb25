#include "store/redis/wire/reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace limitree::redis {
namespace {

// What is wrong with `bytes`; empty if nothing is wrong so far.
std::string detail_of(std::string_view bytes) {
  Reader reader;
  reader.feed(bytes);
  while (reader.next() != nullptr) continue;
  EXPECT_EQ(reader.next(), nullptr);
  return reader.detail();
}

TEST(Reader, GivesEachReplyOnce) {
  Reader reader;
  reader.feed(":1\r\n+OK\r\n$-1\r\n*2\r\n:2\r\n$2\r\n\r\n\r\n");
  Reply reply = reader.next();
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->integer, 1);
  reply = reader.next();
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->type, REDIS_REPLY_STATUS);
  reply = reader.next();
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->type, REDIS_REPLY_NIL);
  reply = reader.next();
  ASSERT_NE(reply, nullptr);
  ASSERT_EQ(reply->elements, 2U);
  EXPECT_EQ(std::string(reply->element[1]->str, reply->element[1]->len),
            "\r\n");
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_FALSE(reader.failed());
}

TEST(Reader, WaitsForTheRest) {
  const std::string bytes = "*3\r\n:1\r\n$3\r\nabc\r\n*1\r\n-ERR no\r\n";
  Reader reader;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    reader.feed(bytes.substr(i, 1));
    ASSERT_EQ(reader.next(), nullptr) << i;
  }
  reader.feed("\n");
  const Reply reply = reader.next();
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->elements, 3U);
}

// What follows a long line is not lost, wherever the line stands and whatever
// the size of the pieces in which it comes.
TEST(Reader, CutsLongLines) {
  const std::string line(900'000, 'x');
  for (const std::size_t piece : {1000UL, 4095UL, 16384UL, 1'000'000UL}) {
    const std::string bytes =
        "-" + line + "\r\n*2\r\n+" + line + "\r\n:2\r\n:3\r\n";
    Reader reader;
    std::vector<Reply> replies;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      while (Reply reply = reader.next()) replies.push_back(std::move(reply));
      ASSERT_FALSE(reader.failed()) << reader.detail();
    }
    ASSERT_EQ(replies.size(), 3U) << piece;
    EXPECT_EQ(replies[0]->type, REDIS_REPLY_ERROR);
    EXPECT_GE(replies[0]->len, Reader::kMaxLine);
    if (piece <= 16384) {
      EXPECT_LE(replies[0]->len, Reader::kMaxLine + 16384 + 1);
      EXPECT_LE(replies[1]->element[0]->len, Reader::kMaxLine + 16384 + 1);
    }
    EXPECT_EQ(replies[1]->element[1]->integer, 2);
    EXPECT_EQ(replies[2]->integer, 3);
  }
}

TEST(Reader, ALineMustEndSomeDay) {
  Reader reader;
  reader.feed("-");
  const std::string piece(16384, 'x');
  for (int i = 0; i < 200 && !reader.failed(); ++i) {
    reader.feed(piece);
    while (reader.next() != nullptr) continue;
  }
  EXPECT_EQ(reader.detail(), "a reply too large");
}

TEST(Reader, AHeadIsANumber) {
  for (const char type : {'*', '$', ':'}) {
    Reader reader;
    reader.feed(type + std::string(100, '0'));
    EXPECT_EQ(reader.next(), nullptr);
    EXPECT_EQ(reader.detail(), "a reply that begins with no number") << type;
  }
}

TEST(Reader, RefusesWhatIsNoReply) {
  EXPECT_EQ(detail_of("HTTP/1.1 400 Bad Request\r\n"),
            "not the protocol of Redis: got \"H\" as reply type byte");
  EXPECT_EQ(detail_of(std::string_view("\0", 1)),
            "not the protocol of Redis: got \"\\x00\" as reply type byte");
  EXPECT_EQ(detail_of("\x15\x03\x01\x00\x02\x02\x46"), "the server speaks TLS");
  EXPECT_NE(detail_of(":1\r\n\r\n"), "");
}

TEST(Reader, RefusesArraysThatCannotBe) {
  EXPECT_EQ(detail_of("*1000000000\r\n"),
            "a reply too large, too deep or not of RESP2");
  EXPECT_EQ(detail_of("*16385\r\n"),
            "a reply too large, too deep or not of RESP2");
  EXPECT_EQ(detail_of("*16384\r\n"), "");
  EXPECT_EQ(detail_of("*2\r\n*1000000000\r\n"),
            "a reply too large, too deep or not of RESP2");
  EXPECT_NE(detail_of("*-2\r\n"), "");
}

TEST(Reader, RefusesDepth) {
  std::string bytes;
  for (std::size_t i = 0; i < Reader::kMaxDepth; ++i) bytes += "*1\r\n";
  EXPECT_EQ(detail_of(bytes), "");
  EXPECT_NE(detail_of(bytes + "*1\r\n"), "");
}

// The server announces a string that is too long.  The reader fails at the
// bound and does not wait for the rest.
TEST(Reader, RefusesRepliesThatAreTooLong) {
  Reader reader;
  reader.feed("$2000000000\r\n");
  const std::string chunk(std::size_t{16} << 10U, 'x');
  std::size_t fed = 0;
  while (!reader.failed()) {
    ASSERT_EQ(reader.next(), nullptr);
    ASSERT_LE(fed, Reader::kMaxReply + chunk.size());
    reader.feed(chunk);
    fed += chunk.size();
  }
  EXPECT_GT(fed, Reader::kMaxReply);
  EXPECT_EQ(reader.detail(), "a reply too large");
}

TEST(Reader, BoundsTheSumOfAnArray) {
  Reader reader;
  reader.feed("*16384\r\n");
  const std::string element = "$1000\r\n" + std::string(1000, 'x') + "\r\n";
  int fed = 0;
  while (!reader.failed() && fed < 2000) {
    reader.feed(element);
    ASSERT_EQ(reader.next(), nullptr);
    ++fed;
  }
  EXPECT_LT(fed, 1100);
}

// However many small replies there are, they do not count as a large one.
TEST(Reader, BoundsEachReplyByItself) {
  Reader reader;
  std::string bytes;
  for (int i = 0; i < 100; ++i)
    bytes += "$1000\r\n" + std::string(1000, 'x') + "\r\n";
  int replies = 0;
  for (int i = 0; i < 50; ++i) {
    reader.feed(bytes);
    while (reader.next() != nullptr) ++replies;
  }
  EXPECT_EQ(replies, 5000);
  EXPECT_FALSE(reader.failed());
}

TEST(Reader, GivesALongReplyWithinTheBound) {
  const std::string text(Reader::kMaxReply - 100, 'x');
  Reader reader;
  reader.feed("$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  const Reply reply = reader.next();
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->len, text.size());
}

TEST(Reader, StaysFailed) {
  Reader reader;
  reader.feed("?");
  EXPECT_EQ(reader.next(), nullptr);
  ASSERT_TRUE(reader.failed());
  reader.feed(":1\r\n");
  EXPECT_EQ(reader.next(), nullptr);
}

// A server sends the types of RESP3 only to clients that asked for them.
TEST(Reader, RefusesResp3) {
  for (const char* const bytes :
       {"%1\r\n:1\r\n:2\r\n", "~1\r\n:1\r\n", ">1\r\n:1\r\n", ",1.5\r\n",
        "#t\r\n", "(12345678901234567890\r\n", "=5\r\ntxt:a\r\n"}) {
    EXPECT_NE(detail_of(bytes), "") << bytes;
  }
}

}  // namespace
}  // namespace limitree::redis
