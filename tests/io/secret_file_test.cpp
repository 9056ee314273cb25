#include "io/secret_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "core/store/temporary_folder.hpp"
#include "io/failure.hpp"

namespace limitree {
namespace {

class SecretFile : public testing::Test {
 protected:
  // What is read, or the message after the name of the file.
  std::string read(const std::string& content) {
    std::ofstream(name_, std::ios::binary) << content;
    return read_again();
  }
  std::string read_again() {
    try {
      return read_secret(name_);
    } catch (const Failure& failure) {
      const std::string why = failure.what();
      EXPECT_TRUE(why.starts_with(name_ + ": ")) << why;
      return "refused: " + why.substr(name_.size() + 2);
    }
  }

  const TemporaryFolder folder_{"secret"};
  const std::string name_ = folder_.path() + "/secret";
};

TEST_F(SecretFile, IsOneLineWithoutItsEnd) {
  EXPECT_EQ(read("p@ss: w\xc3\xb6rd\t"), "p@ss: w\xc3\xb6rd\t");
  EXPECT_EQ(read("secret\n"), "secret");
  EXPECT_EQ(read("secret\r\n"), "secret");
  EXPECT_EQ(read(" secret "), " secret ");
}

TEST_F(SecretFile, HasAContent) {
  for (const char* content : {"", "\n", "\r\n"}) {
    EXPECT_EQ(read(content), "refused: is empty");
  }
}

TEST_F(SecretFile, IsNotAnotherKindOfFile) {
  const std::string lines =
      "refused: must be one line, without control characters";
  EXPECT_EQ(read("-----BEGIN KEY-----\nMII\n"), lines);
  EXPECT_EQ(read("secret\n\n"), lines);
  EXPECT_EQ(read(std::string("sec\0ret", 7)), lines);
  EXPECT_EQ(read("\x1b[1m"), lines);
}

TEST_F(SecretFile, HasALimit) {
  const std::string most(kMaxSecret, 's');
  EXPECT_EQ(read(most + "\r\n"), most);
  EXPECT_EQ(read(most + "s"), "refused: has more than 65536 bytes");
  EXPECT_EQ(read(std::string(1 << 20U, 's')),
            "refused: has more than 65536 bytes");
}

TEST_F(SecretFile, IsThereAndARegularFile) {
  EXPECT_EQ(read_again(), "refused: no such file or directory");
  ASSERT_EQ(mkfifo(name_.c_str(), 0600), 0);
  EXPECT_EQ(read_again(), "refused: not a regular file");  // does not wait
  ASSERT_EQ(remove(name_.c_str()), 0);
  ASSERT_EQ(mkdir(name_.c_str(), 0700), 0);
  EXPECT_EQ(read_again(), "refused: not a regular file");
}

}  // namespace
}  // namespace limitree
