#include "grpc/framing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace limitree::server {
namespace {

using Step = FrameReader::Step;

constexpr std::size_t kMax = 1000;

std::string frame(std::string_view message) {
  std::string out;
  const std::size_t start = begin_frame(&out);
  out += message;
  end_frame(&out, start);
  return out;
}

TEST(Frame, HasAFlagAndABigEndianSize) {
  EXPECT_EQ(frame("ab"), std::string("\0\0\0\0\2ab", 7));
  const std::string large = frame(std::string(0x010203, 'x'));
  EXPECT_EQ(large.substr(0, 5), std::string("\0\0\1\2\3", 5));
}

TEST(Frame, StartsWhereTheTextEnds) {
  std::string out = "before";
  const std::size_t start = begin_frame(&out);
  out += "x";
  end_frame(&out, start);
  EXPECT_EQ(out, "before" + std::string("\0\0\0\0\1x", 6));
}

// All messages in `bytes`, given in pieces of `piece` bytes.
std::vector<std::string> read(const std::string& bytes, std::size_t piece) {
  FrameReader reader;
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string copy = bytes.substr(at, piece);
    std::string_view part = copy;
    while (!part.empty()) {
      const Step step = reader.next(&part, kMax);
      if (step == Step::kMessage) messages.emplace_back(reader.message());
      EXPECT_TRUE(step == Step::kMessage || step == Step::kMore);
    }
  }
  return messages;
}

TEST(FrameReader, GivesTheSameMessagesHoweverTheBytesCome) {
  const std::vector<std::string> messages = {
      "", "a", std::string(700, 'b'), "", "", "cc", std::string(1000, 'd')};
  std::string bytes;
  for (const std::string& message : messages) bytes += frame(message);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    ASSERT_EQ(read(bytes, piece), messages) << "in pieces of " << piece;
  }
}

TEST(FrameReader, DoesNotCopyAMessageThatIsThere) {
  const std::string bytes = frame("abc");
  std::string_view part = bytes;
  FrameReader reader;
  ASSERT_EQ(reader.next(&part, kMax), Step::kMessage);
  EXPECT_EQ(reader.message().data(), bytes.data() + kFramePrefix);
  EXPECT_TRUE(reader.is_empty());
}

TEST(FrameReader, KnowsHowMuchItHolds) {
  FrameReader reader;
  std::string_view part("\0\0\0\0\4ab", 7);
  EXPECT_EQ(reader.next(&part, kMax), Step::kMore);
  EXPECT_TRUE(part.empty());
  EXPECT_EQ(reader.held(), 7u);
  reader.clear();
  EXPECT_TRUE(reader.is_empty());
}

TEST(FrameReader, KnowsWhichMessagesAreCompressed) {
  std::string bytes;
  for (const bool is_compressed : {true, false, true}) {
    const std::size_t start = begin_frame(&bytes);
    bytes += "x";
    end_frame(&bytes, start, is_compressed);
  }
  FrameReader reader;
  std::vector<bool> found;
  for (const char byte : bytes) {
    std::string_view part(&byte, 1);
    if (reader.next(&part, kMax) == Step::kMessage) {
      found.push_back(reader.is_compressed());
    }
  }
  EXPECT_EQ(found, (std::vector<bool>{true, false, true}));
}

Step first_step(std::string_view bytes) {
  Step whole;
  {
    FrameReader reader;
    std::string_view part = bytes;
    whole = reader.next(&part, kMax);
  }
  FrameReader reader;  // the same byte by byte
  Step step = Step::kMore;
  for (std::size_t i = 0; i < bytes.size() && step == Step::kMore; ++i) {
    std::string_view part = bytes.substr(i, 1);
    step = reader.next(&part, kMax);
  }
  EXPECT_EQ(step, whole);
  return step;
}

TEST(FrameReader, RefusesWhatItCannotRead) {
  EXPECT_EQ(first_step({"\2\0\0\0\1x", 6}), Step::kBadFlag);
  EXPECT_EQ(first_step({"\xff\0\0\0\1x", 6}), Step::kBadFlag);
  EXPECT_EQ(first_step({"\0\0\0\3\xe9", 5}), Step::kTooLarge);
  EXPECT_EQ(first_step({"\0\xff\xff\xff\xff", 5}), Step::kTooLarge);
}

}  // namespace
}  // namespace limitree::server
