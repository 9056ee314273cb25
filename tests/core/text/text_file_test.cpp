#include "text/text_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/store/temporary_folder.hpp"

namespace limitree {
namespace {

namespace fs = std::filesystem;

class TextFile : public testing::Test {
 protected:
  fs::path file(const std::string& content) {
    const fs::path path = folder_ / "f.csv";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static std::string refusal(const std::string& path, std::size_t most = 100) {
    Result<std::string> text = read_file(path, most);
    return text.ok() ? "" : text.status().error().messages.front();
  }

  const TemporaryFolder temporary_{"text"};
  const fs::path folder_ = temporary_.path();
};

TEST_F(TextFile, IsReadWhole) {
  const std::string content =
      std::string("a\0b", 3) + std::string(300'000, 'x');
  Result<std::string> text = read_file(file(content), 1'000'000);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value(), content);
  EXPECT_EQ(read_file(file(""), 10).value(), "");
}

TEST_F(TextFile, OrItIsSaidWhyNot) {
  EXPECT_EQ(refusal(folder_ / "none"), "no such file or directory");
  EXPECT_EQ(refusal(folder_), "not a regular file");
  EXPECT_EQ(refusal("/dev/zero"), "not a regular file");
  EXPECT_EQ(refusal(file("12345"), 4), "has 5 bytes, more than 4");
  EXPECT_EQ(refusal(std::string("a\0b", 3)), "has a zero byte");
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(pipe), "not a regular file");  // and nobody waits
}

TEST_F(TextFile, LiesBesideTheOneThatNamesIt) {
  EXPECT_EQ(beside("conf/limits.yaml", "users.csv"), "conf/users.csv");
  EXPECT_EQ(beside("conf/limits.yaml", "a/users.csv"), "conf/a/users.csv");
  EXPECT_EQ(beside("/etc/limits.yaml", "/srv/users.csv"), "/srv/users.csv");
  EXPECT_EQ(beside("limits.yaml", "users.csv"), "users.csv");
  EXPECT_EQ(beside("", "users.csv"), "users.csv");
}

TEST_F(TextFile, TextIsUtf8WithoutControlCharacters) {
  const auto problem = [](std::string_view text) {
    Problems problems;
    if (check_text(text, &problems)) return std::string();
    return problems.to_status("f").error().messages.front();
  };
  EXPECT_EQ(problem("plain words of some length, \xc3\xa4\tand\r\nmore"), "");
  EXPECT_EQ(problem("\x1b"), "f:1:1: control characters are not allowed: 0x1B");
  EXPECT_EQ(problem("\xff"), "f:1:1: invalid UTF-8: byte 0xFF");
  // At every position among bytes that are read eight at a time.
  for (std::size_t before = 0; before < 24; ++before) {
    for (const char byte : {'\0', '\1', '\x1f', '\x7f', '\x80', '\xff'}) {
      std::string text(40, ' ');
      text[before] = byte;
      EXPECT_TRUE(
          problem(text).starts_with("f:1:" + std::to_string(before + 1) + ": "))
          << before << " " << int{byte} << " " << problem(text);
    }
    for (const char byte : {' ', '~', '\t'}) {
      std::string text(40, 'x');
      text[before] = byte;
      EXPECT_EQ(problem(text), "");
    }
  }
}

}  // namespace
}  // namespace limitree
