#include "config/folder_watch.hpp"

#include <sys/inotify.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "net/failure.hpp"

namespace limitree::server {

namespace {

constexpr Nanoseconds kSettle = 50 * kMillisecond;
constexpr Nanoseconds kLookAnyway = 5 * kSecond;

constexpr std::uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                   IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB |
                                   IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

FolderWatch::FolderWatch(Loop* loop, DescriptorSettings settings,
                         std::string state, FolderListener* listener)
    : loop_(loop),
      settings_(std::move(settings)),
      known_(std::move(state)),
      seen_(known_),
      listener_(listener),
      look_(loop, [this] { look(); }) {
  look_.set(loop_->now());
}

FolderWatch::~FolderWatch() {
  if (inotify_) loop_->remove(inotify_.get(), this);
}

void FolderWatch::on_ready(std::uint32_t /*events*/) {
  char events[4096];
  while (::read(inotify_.get(), events, sizeof events) > 0) {
  }
  look_.set(after(loop_->now(), kSettle));
}

// From new on: a folder that was replaced is another one now.  Without inotify,
// of which a system has few, there is the look every few seconds.
void FolderWatch::watch() {
  if (inotify_) loop_->remove(inotify_.get(), this);
  inotify_ = Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_) return;
  for (const std::string& place : settings_.places) watch_way_to(place);
  try {
    for (const std::string& one : descriptor_folders(settings_)) {
      inotify_add_watch(inotify_.get(), one.c_str(), kChanges);
    }
  } catch (const Failure&) {
    // One has just vanished, and the way to it tells when it is back.
  }
  loop_->add(inotify_.get(), EPOLLIN, this);
}

// All folders of a path, because any of them may be a symbolic link that is
// replaced.
void FolderWatch::watch_way_to(const std::string& place) {
  if (!place.starts_with('/')) inotify_add_watch(inotify_.get(), ".", kChanges);
  for (std::size_t end = place.find('/', 1); end != place.npos;
       end = place.find('/', end + 1)) {
    inotify_add_watch(inotify_.get(), place.substr(0, end).c_str(), kChanges);
  }
  inotify_add_watch(inotify_.get(), place.c_str(), kChanges);
}

void FolderWatch::look() {
  // Also if there is no memory for all that follows.
  look_.set(after(loop_->now(), kLookAnyway));
  // What changes after this wakes the loop.
  watch();
  std::string state = state_of(settings_);
  const bool settled = state == seen_;
  seen_ = std::move(state);
  if (seen_ == known_) return;
  if (settled) {
    read();
  } else {
    look_.set(after(loop_->now(), kSettle));
  }
}

void FolderWatch::read() {
  std::vector<SourceFile> files;
  std::optional<std::string> mistake;
  try {
    files = read_descriptors(settings_);
  } catch (const Failure& failure) {
    mistake = failure.what();
  }
  std::string state = state_of(settings_);
  if (state != seen_) {  // in the meantime
    seen_ = std::move(state);
    look_.set(after(loop_->now(), kSettle));
    return;
  }
  known_ = seen_;
  if (mistake) {
    listener_->unreadable(*mistake);
  } else {
    listener_->changed(std::move(files));
  }
}

}  // namespace limitree::server
