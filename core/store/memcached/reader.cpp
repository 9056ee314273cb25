#include "store/memcached/reader.hpp"

#include <array>
#include <utility>

#include "base/digits.hpp"

namespace limitree::memcached {

namespace {

constexpr std::string_view kEnd = "\r\n";

using Word = std::pair<std::string_view, Response::Kind>;

constexpr std::array kWords = std::to_array<Word>({
    {"HD", Response::Kind::kDone},
    {"EN", Response::Kind::kMiss},
    {"NS", Response::Kind::kNotStored},
    {"EX", Response::Kind::kExists},
    {"NF", Response::Kind::kNotFound},
    {"MN", Response::Kind::kDone},
    {"STORED", Response::Kind::kDone},
});

constexpr std::string_view kErrors[] = {"ERROR", "CLIENT_ERROR",
                                        "SERVER_ERROR"};

// Takes the first word of *line.
std::string_view take_word(std::string_view* line) {
  const std::string_view word = line->substr(0, line->find(' '));
  line->remove_prefix(std::min(word.size() + 1, line->size()));
  return word;
}

}  // namespace

void Reader::feed(std::string_view bytes) {
  if (failed()) return;
  if (begin_ == bytes_.size()) {
    bytes_.clear();
    begin_ = 0;
  } else if (begin_ > kMaxLine && 2 * begin_ > bytes_.size()) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  bytes_.append(bytes);
}

std::optional<Response> Reader::fail(const char* detail) {
  detail_ = detail;
  bytes_ = {};
  begin_ = 0;
  value_.reset();
  return std::nullopt;
}

std::optional<Response> Reader::next() {
  if (failed()) return std::nullopt;
  if (value_) return take_value();
  const std::string_view rest = std::string_view(bytes_).substr(begin_);
  const std::size_t end = rest.substr(0, kMaxLine).find(kEnd);
  if (end == rest.npos) {
    if (rest.size() < kMaxLine) return std::nullopt;
    return fail("a line that does not end");
  }
  Response response;
  if (!read_line(rest.substr(0, end), &response)) {
    return fail("not a response of memcached");
  }
  begin_ += end + kEnd.size();
  if (response.kind != Response::Kind::kValue) return response;
  if (value_size_ > kMaxValue) return fail("a value that is too large");
  value_ = std::move(response);
  return take_value();
}

std::optional<Response> Reader::take_value() {
  if (bytes_.size() - begin_ < value_size_ + kEnd.size()) return std::nullopt;
  const std::string_view value =
      std::string_view(bytes_).substr(begin_, value_size_ + kEnd.size());
  if (!value.ends_with(kEnd)) return fail("a value without an end");
  value_->text = value.substr(0, value_size_);
  begin_ += value.size();
  return std::exchange(value_, std::nullopt);
}

// Sets value_size_ if a value follows.
bool Reader::read_line(std::string_view line, Response* response) {
  std::string_view flags = line;
  const std::string_view word = take_word(&flags);
  for (const std::string_view error : kErrors) {
    if (word != error) continue;
    response->text = line;
    return true;
  }
  if (word == "VA") {
    response->kind = Response::Kind::kValue;
    value_size_ = 0;
    if (!read_digits(take_word(&flags), &value_size_)) return false;
  } else {
    bool known = false;
    for (const Word& one : kWords) {
      if (word != one.first) continue;
      response->kind = one.second;
      known = true;
    }
    if (!known) return false;
  }
  while (!flags.empty()) {
    const std::string_view flag = take_word(&flags);
    if (flag.starts_with('c') && !read_digits(flag.substr(1), &response->cas)) {
      return false;
    }
  }
  return true;
}

}  // namespace limitree::memcached
