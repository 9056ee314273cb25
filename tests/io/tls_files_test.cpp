#include "io/tls_files.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/store/temporary_folder.hpp"
#include "io/failure.hpp"

namespace limitree {
namespace {

// The content of a file, which is not valid if it is empty.
struct Content {
  using Settings = std::string;

  static std::vector<std::string> files(const Settings& file) { return {file}; }
  static std::shared_ptr<const Content> load(const Settings& file) {
    auto content = std::make_shared<Content>();
    std::ifstream(file) >> content->text;
    if (content->text.empty()) throw Failure(file, EINVAL);
    return content;
  }

  std::string text;
};

TEST(TlsFiles, TellsAChangeFromAChangeThatWasTried) {
  const TemporaryFolder folder("files");
  const std::string file = folder.path() + "/file";
  const auto put = [&](const std::string& text) {
    std::ofstream(file + ".new") << text;
    std::filesystem::rename(file + ".new", file);
  };
  put("first");
  TlsFiles<Content> files(file);
  EXPECT_FALSE(files.has_changed());

  put("");
  EXPECT_TRUE(files.has_changed());
  EXPECT_THROW(files.refresh(), Failure);
  EXPECT_FALSE(files.has_changed());
  EXPECT_EQ(files.context()->text, "first");
  EXPECT_THROW(files.refresh(), Failure) << "who asks again is told again";

  put("second");
  EXPECT_TRUE(files.has_changed());
  EXPECT_TRUE(files.refresh());
  EXPECT_FALSE(files.has_changed());
  EXPECT_EQ(files.context()->text, "second");
}

}  // namespace
}  // namespace limitree
