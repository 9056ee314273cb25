#include "config/folder_watch.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace limitree::server {
namespace {

// Less than the time after which the folder is looked at in any case.
constexpr Duration kPatience = 4 * kOneSecond;

// A folder that is watched, while its neighbours change all the time.
class FolderWatchTest : public testing::Test {
 protected:
  FolderWatchTest()
      : busy_(&loop_, [this] { be_busy(); }),
        end_(&loop_, [this] { loop_.stop(); }) {
    std::string name = testing::TempDir() + "limitree-folder-XXXXXX";
    root_ = mkdtemp(name.data());
    std::filesystem::create_directory(root_ / "config");
    write("config/a.yaml", "a");
  }
  ~FolderWatchTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& content) {
    std::ofstream(root_ / name) << content;
  }

  // What is read after a.yaml has changed.
  std::string read_beside(const std::string& neighbour) {
    neighbour_ = neighbour;
    DescriptorSettings settings;
    settings.places = {root_ / "config"};
    FolderWatch watch(
        &loop_, settings, state_of(settings),
        [this](const std::vector<SourceFile>& files,
               const std::string& mistake) { changed(files, mistake); });
    busy_.set(loop_.now());
    end_.set(after(loop_.now(), kPatience));
    loop_.run();
    return read_;
  }

 private:
  void be_busy() {
    write(neighbour_, "");
    std::filesystem::remove(root_ / neighbour_);
    if (++rounds_ == 5) write("config/a.yaml", "b");
    busy_.set(after(loop_.now(), 10 * kMillisecond));
  }

  void changed(const std::vector<SourceFile>& files,
               const std::string& mistake) {
    read_ = mistake;
    if (!mistake.empty()) return;
    read_ = files.at(0).text;
    loop_.stop();
  }

  Loop loop_;
  std::filesystem::path root_;
  std::string neighbour_;
  std::string read_;
  int rounds_ = 0;
  Timer busy_;
  Timer end_;
};

TEST_F(FolderWatchTest, SeesAChangeBesideABusyFolder) {
  EXPECT_EQ(read_beside("busy"), "b");
}

TEST_F(FolderWatchTest, SeesAChangeBesideABusyFile) {
  EXPECT_EQ(read_beside("config/.busy"), "b");
}

}  // namespace
}  // namespace limitree::server
