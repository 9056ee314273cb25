#include "line_reader.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "failure.hpp"

namespace limitree::cli {
namespace {

class LineReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    name_ = testing::TempDir() + "limitree_line_reader_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void TearDown() override { std::filesystem::remove(name_); }

  void write(const std::string& bytes) {
    std::ofstream(name_, std::ios::binary) << bytes;
  }

  // The lines; "<too long>" for lines that are too long.
  std::vector<std::string> lines() {
    InputFile file(name_);
    LineReader reader(&file);
    std::vector<std::string> all;
    std::string_view line;
    for (;;) {
      switch (reader.next(&line)) {
        case LineReader::Found::kLine:
          all.emplace_back(line);
          break;
        case LineReader::Found::kTooLong:
          all.emplace_back("<too long>");
          break;
        case LineReader::Found::kEnd:
          return all;
      }
    }
  }

  std::string error() {
    try {
      lines();
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  }

  std::string name_;
};

using Lines = std::vector<std::string>;

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(
      deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
      Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(LineReaderTest, SplitsLines) {
  write("a\n\nb\r\nc");
  EXPECT_EQ(lines(), (Lines{"a", "", "b", "c"}));
}

TEST_F(LineReaderTest, EmptyFileHasNoLine) {
  write("");
  EXPECT_EQ(lines(), Lines{});
  write("\x1f");
  EXPECT_EQ(lines(), Lines{"\x1f"});
}

TEST_F(LineReaderTest, LinesSpanBlocks) {
  Lines expected;
  std::string text;
  for (std::size_t i = 0; i < 400; ++i) {
    expected.emplace_back(i * 7919 % 9000, static_cast<char>('a' + i % 26));
    text += expected.back() + '\n';
  }
  write(text);
  EXPECT_EQ(lines(), expected);
  write(gzip(text));
  EXPECT_EQ(lines(), expected);
}

TEST_F(LineReaderTest, LongLinesAreSkipped) {
  const std::string longest(LineReader::kMaxLine, 'x');
  for (const std::size_t size : {LineReader::kMaxLine + 1, std::size_t{300'000},
                                 std::size_t{2'000'000}}) {
    const std::string longer(size, 'y');
    write("a\n" + longer + "\n" + longest + "\nb\n" + longer);
    EXPECT_EQ(lines(), (Lines{"a", "<too long>", longest, "b", "<too long>"}));
  }
}

TEST_F(LineReaderTest, GzipMayHaveSeveralMembers) {
  write(gzip("a\nb") + gzip("") + gzip("c\nd\n"));
  EXPECT_EQ(lines(), (Lines{"a", "bc", "d"}));
}

TEST_F(LineReaderTest, PaddingAfterGzipIsIgnored) {
  write(gzip("a\n") + std::string(100, '\0'));
  EXPECT_EQ(lines(), Lines{"a"});
}

TEST_F(LineReaderTest, TruncatedGzip) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i * 7919) + '\n';
  const std::string packed = gzip(text);
  for (const std::size_t size :
       {std::size_t{2}, std::size_t{5}, packed.size() / 2, packed.size() - 1}) {
    write(packed.substr(0, size));
    EXPECT_EQ(error(), name_ + ": the compressed data ends too early") << size;
  }
  // All data before the error is delivered.
  write(packed.substr(0, packed.size() / 2));
  InputFile file(name_);
  LineReader reader(&file);
  std::string_view line;
  ASSERT_EQ(reader.next(&line), LineReader::Found::kLine);
  EXPECT_EQ(line, "0");
}

TEST_F(LineReaderTest, DamagedGzip) {
  std::string packed = gzip("a\n");
  packed[packed.size() - 6] ^= 1;  // the checksum
  write(packed);
  EXPECT_EQ(error(), name_ + ": the compressed data is damaged");
  write("\x1f\x8b is no gzip file");
  EXPECT_EQ(error(), name_ + ": the compressed data is damaged");
}

TEST_F(LineReaderTest, WhatIsNoFile) {
  EXPECT_EQ(error(), name_ + ": no such file or directory");
  char byte;
  EXPECT_THROW(InputFile("/").read(&byte, 1), FileError);
}

}  // namespace
}  // namespace limitree::cli
