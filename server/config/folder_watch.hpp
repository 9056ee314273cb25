// Notices when files of descriptors change.

#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/files.hpp"
#include "io/fd.hpp"
#include "io/loop.hpp"
#include "io/timer.hpp"

namespace limitree::server {

// Compares the metadata of the files when inotify reports a change in one of
// the folders on the path to them, and every few seconds, because not all file
// systems report changes.  Reads the files when two checks in a row find the
// same, so that it does not read files that are being written.
class FolderWatch final : public Watcher {
 public:
  // Called with the files that have changed, or with why they are not readable.
  using OnChange = std::function<void(std::vector<SourceFile> files,
                                      const std::string& mistake)>;

  // `state` is the state of the files that are loaded.
  FolderWatch(Loop* loop, DescriptorSettings settings, std::string state,
              OnChange on_change);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Marks the files in this state as known.  For a caller that has read them
  // after it took `state`.
  void know(std::string state) { known_ = std::move(state); }

  void on_ready(std::uint32_t events) override;

 private:
  void watch();
  void watch_way_to(const std::string& place);
  void watch_folder(const std::string& folder, const std::string& step);
  bool matters(std::string_view events) const;
  void look();
  void look_at(Monotonic at);
  void read();

  Loop* loop_;
  DescriptorSettings settings_;
  std::string known_;
  std::string seen_;  // at the last check
  OnChange on_change_;
  Fd inotify_;
  // Which names of a watched folder matter; an empty one stands for all.
  std::set<std::pair<int, std::string>> steps_;
  Timer look_;
  Monotonic looks_at_ = Monotonic::max();
};

}  // namespace limitree::server
