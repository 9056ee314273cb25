#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "store/redis/common/remote.hpp"
#include "store/redis/wire/reader.hpp"
#include "store/redis/wire/resp.hpp"

namespace limitree::redis {
namespace {

Reply reply_of(std::string_view bytes) {
  Reader reader;
  reader.feed(bytes);
  return reader.next();
}

TEST(Command, IsWrittenInResp) {
  std::string out = "before";
  append_command({"SET", "a key", ""}, &out);
  EXPECT_EQ(out, "before*3\r\n$3\r\nSET\r\n$5\r\na key\r\n$0\r\n\r\n");
}

TEST(Command, WordsAreBytes) {
  std::string out;
  const std::string_view odd("\r\n\0$", 4);
  append_command({odd}, &out);
  EXPECT_EQ(out, "*1\r\n$4\r\n" + std::string(odd) + "\r\n");
}

TEST(Command, CanBeWrittenWordByWord) {
  std::string out;
  append_array(4, &out);
  append_word("GET", &out);
  append_word(std::int64_t{0}, &out);
  append_word(INT64_MIN, &out);
  append_word(INT64_MAX, &out);
  EXPECT_EQ(out,
            "*4\r\n$3\r\nGET\r\n$1\r\n0\r\n$20\r\n-9223372036854775808\r\n"
            "$19\r\n9223372036854775807\r\n");
}

TEST(Command, WordsMayBeMadeInPlace) {
  std::string out = "before";
  const std::size_t start = out.size();
  out += "a word of";
  out += " pieces";
  end_word(start, &out);
  EXPECT_EQ(out, "before$16\r\na word of pieces\r\n");
  end_word(out.size(), &out);
  EXPECT_EQ(out, "before$16\r\na word of pieces\r\n$0\r\n\r\n");
}

TEST(Outcome, OfAReply) {
  const Outcome outcome = answered(reply_of(":7\r\n"));
  EXPECT_EQ(outcome.fate, Outcome::Fate::kAnswered);
  EXPECT_EQ(outcome.failure, Failure::kNone);
  EXPECT_EQ(outcome.detail, "");
  ASSERT_NE(outcome.reply, nullptr);
  EXPECT_EQ(redis_reply(outcome).integer, 7);
}

TEST(Outcome, OfAnErrorReply) {
  const Outcome outcome =
      answered(reply_of("-NOSCRIPT No matching script.\r\n"));
  EXPECT_EQ(outcome.fate, Outcome::Fate::kAnswered);
  EXPECT_EQ(outcome.failure, Failure::kNoScript);
  EXPECT_EQ(outcome.detail, "NOSCRIPT No matching script.");
  EXPECT_NE(outcome.reply, nullptr);
}

TEST(Outcome, OfACommandThatWasLost) {
  const Outcome outcome =
      Outcome::lost(Outcome::Fate::kUnknown, Failure::kTimeout, "no answer");
  EXPECT_EQ(outcome.fate, Outcome::Fate::kUnknown);
  EXPECT_EQ(outcome.failure, Failure::kTimeout);
  EXPECT_EQ(outcome.detail, "no answer");
  EXPECT_EQ(outcome.reply, nullptr);
}

}  // namespace
}  // namespace limitree::redis
