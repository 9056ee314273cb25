#include "config/folder_watch.hpp"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "io/failure.hpp"

namespace limitree::server {

namespace {

constexpr Duration kSettle = 50 * kMillisecond;
constexpr Duration kLookAnyway = 5 * kOneSecond;

constexpr std::uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                   IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB |
                                   IN_DELETE_SELF | IN_MOVE_SELF;

bool is_link(const std::string& name) {
  std::error_code error;
  return std::filesystem::is_symlink(name, error);
}

}  // namespace

FolderWatch::FolderWatch(Loop* loop, DescriptorSettings settings,
                         std::string state, OnChange on_change)
    : loop_(loop),
      settings_(std::move(settings)),
      known_(std::move(state)),
      seen_(known_),
      on_change_(std::move(on_change)),
      look_(loop, [this] { look(); }) {
  look_at(loop_->now());
}

FolderWatch::~FolderWatch() {
  if (inotify_) loop_->remove(inotify_.get(), this);
}

// Changes that never end do not delay the next check.
void FolderWatch::on_ready(std::uint32_t /*events*/) {
  alignas(inotify_event) char events[4096];
  bool any = false;
  while (true) {
    const ssize_t size = ::read(inotify_.get(), events, sizeof events);
    if (size <= 0) break;
    any |= matters({events, static_cast<std::size_t>(size)});
  }
  const Monotonic soon = after(loop_->now(), kSettle);
  if (any && soon < looks_at_) look_at(soon);
}

// In folders such as /tmp, many changes do not concern these files.
bool FolderWatch::matters(std::string_view events) const {
  while (!events.empty()) {
    inotify_event event;
    std::memcpy(&event, events.data(), sizeof event);
    // Without a name, the event is about the folder itself, or events were
    // lost.
    if (event.len == 0) return true;
    const char* const name = events.data() + sizeof event;
    if (steps_.contains({event.wd, ""}) || steps_.contains({event.wd, name})) {
      return true;
    }
    events.remove_prefix(sizeof event + event.len);
  }
  return false;
}

void FolderWatch::look_at(Monotonic at) {
  looks_at_ = at;
  look_.set(at);
}

// Starts all watches again, because a folder may have been replaced.  A system
// has few inotify instances; without one, the files are still checked every few
// seconds.
void FolderWatch::watch() {
  if (inotify_) loop_->remove(inotify_.get(), this);
  steps_.clear();
  inotify_ = Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_) return;
  for (const std::string& place : settings_.places) watch_way_to(place);
  try {
    for (const std::string& one : list_descriptors(settings_).folders) {
      watch_folder(one, "");
    }
  } catch (const Failure&) {
    // A folder has just vanished; the watches on its path tell when it is back.
  }
  loop_->add(inotify_.get(), EPOLLIN, this);
}

// Watches all folders of a path, because any of them may be a symbolic link
// that is replaced.
void FolderWatch::watch_way_to(const std::string& place) {
  std::size_t begin = place.starts_with('/') ? 1 : 0;
  for (std::size_t end = 0; end != place.npos; begin = end + 1) {
    end = place.find('/', begin);
    const std::string folder = place.substr(0, begin);
    const std::string step = place.substr(begin, end - begin);
    // A symbolic link may lead through other names in this folder.
    watch_folder(folder.empty() ? "." : folder,
                 is_link(folder + step) ? "" : step);
  }
  watch_folder(place, "");
}

void FolderWatch::watch_folder(const std::string& folder,
                               const std::string& step) {
  const int watch = inotify_add_watch(inotify_.get(), folder.c_str(), kChanges);
  if (watch >= 0) steps_.emplace(watch, step);
}

void FolderWatch::look() {
  // Set first, in case there is no memory for what follows.
  look_at(after(loop_->now(), kLookAnyway));
  // Changes after this wake the loop.
  watch();
  std::string state = state_of(settings_);
  const bool settled = state == seen_;
  seen_ = std::move(state);
  if (seen_ == known_) return;
  if (settled) {
    read();
  } else {
    look_at(after(loop_->now(), kSettle));
  }
}

void FolderWatch::read() {
  std::vector<SourceFile> files;
  std::string mistake;
  try {
    files = read_descriptors(settings_);
  } catch (const Failure& failure) {
    mistake = failure.what();
  }
  std::string state = state_of(settings_);
  if (state != seen_) {  // in the meantime
    seen_ = std::move(state);
    look_at(after(loop_->now(), kSettle));
    return;
  }
  known_ = seen_;
  on_change_(std::move(files), mistake);
}

}  // namespace limitree::server
