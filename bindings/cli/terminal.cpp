#include "terminal.hpp"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "failure.hpp"
#include "format.hpp"

namespace limitree::cli {

namespace {

constexpr std::chrono::milliseconds kRedraw(100);

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::size_t width_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// The codes of a terminal, by Colour.
constexpr std::array<std::string_view, 6> kCodes = {
    "", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m"};

// Writes all of `text`.  Returns errno if the descriptor fails.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

Terminal Terminal::of(int descriptor) {
  Terminal terminal;
  terminal.connected = isatty(descriptor) != 0;
  if (!terminal.connected) return terminal;
  const std::string_view kind = environment("TERM");
  terminal.colour =
      environment("NO_COLOR").empty() && !kind.empty() && kind != "dumb";
  terminal.utf8 = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  terminal.width = width_of(descriptor);
  return terminal;
}

std::string Terminal::paint(Colour with, std::string_view text) const {
  std::string painted;
  const bool plain = !colour || with == Colour::kNone || text.empty();
  if (!plain) painted += kCodes[static_cast<std::size_t>(with)];
  painted += text;
  if (!plain) painted += "\033[0m";
  return painted;
}

void print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE) throw FileError("standard output", error);
}

void write_error_line(std::string_view line) {
  // A failure here could not be reported anywhere.
  write_all(STDERR_FILENO, std::string(line) + '\n');
}

void complain(std::string_view message) {
  write_error_line("limitree: " + std::string(message));
}

bool keep_picture(const std::string& picture, const std::string& name) {
  if (name == "-") {
    print(picture);
    return false;
  }
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file << picture;
  file.close();
  if (!file) throw FileError(name, errno);
  return true;
}

ProgressBar::ProgressBar(std::int64_t total)
    : terminal_(Terminal::of(STDERR_FILENO)),
      total_(total),
      next_(std::chrono::steady_clock::now() + kRedraw) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::update(std::int64_t done, std::int64_t lines) {
  if (!terminal_.connected) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  write_all(STDERR_FILENO,
            '\r' + bar(done) + count_text(lines) + " lines\033[K");
}

void ProgressBar::clear() {
  if (drawn_) write_all(STDERR_FILENO, "\r\033[K");
  drawn_ = false;
}

// "[#########...........]  45%  "; empty if the total is unknown.
std::string ProgressBar::bar(std::int64_t done) const {
  if (total_ <= 0 || terminal_.width < 60) return {};
  constexpr std::int64_t kCells = 30;
  const std::int64_t percent = std::min(done, total_) * 100 / total_;
  std::string text = "[";
  for (std::int64_t i = 0; i < kCells; ++i) {
    const bool full = i * 100 < percent * kCells;
    text += terminal_.utf8 ? (full ? "\u2588" : "\u2591") : (full ? "#" : ".");
  }
  std::string share = std::to_string(percent) + '%';
  share.insert(0, 4 - std::min<std::size_t>(share.size(), 4), ' ');
  return text + "] " + share + "  ";
}

}  // namespace limitree::cli
