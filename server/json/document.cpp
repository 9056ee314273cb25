#include "json/document.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/digits.hpp"

namespace limitree::server {

namespace {

// More than any request has: each value takes much more memory than text.
constexpr std::size_t kMaxValues = 1 << 17;

// Memory for more than most requests have is not kept for the next one.
constexpr std::size_t kMaxKeptBytes = 64 * 1024;

template <typename Container>
void start(Container* made) {
  made->clear();
  if (made->capacity() * sizeof(typename Container::value_type) >
      kMaxKeptBytes) {
    made->shrink_to_fit();
  }
}

}  // namespace

// What the parser finds.  It does not recurse, so no depth is too large.
struct JsonEvents {
  using Parsed = nlohmann::json;

  JsonDocument* document;

  bool add(const JsonDocument::Value& value) {
    if (document->values_.size() == kMaxValues) {
      throw JsonError("the request has more than " +
                      std::to_string(kMaxValues) + " values");
    }
    document->values_.push_back(value);
    return true;
  }
  bool open(JsonKind kind) {
    document->open_.push_back(document->values_.size());
    return add({.kind = kind});
  }
  bool close() {
    document->values_[document->open_.back()].end = document->values_.size();
    document->open_.pop_back();
    return true;
  }

  bool null() { return add({.kind = JsonKind::kNull}); }
  bool boolean(bool value) {
    return add({.kind = value ? JsonKind::kTrue : JsonKind::kFalse});
  }
  bool number_integer(std::int64_t value) {
    return add({.kind = JsonKind::kInteger, .integer = value});
  }
  bool number_unsigned(std::uint64_t value) {
    if (value <= INT64_MAX) {
      return number_integer(static_cast<std::int64_t>(value));
    }
    return add({.kind = JsonKind::kUnsigned, .whole = value});
  }
  bool number_float(double value, const std::string& /*text*/) {
    return add({.kind = JsonKind::kReal, .real = value});
  }
  bool string(const std::string& value) {
    const std::size_t begin = document->texts_.size();
    document->texts_ += value;
    return add({.kind = JsonKind::kText,
                .begin = begin,
                .end = document->texts_.size()});
  }
  bool binary(const Parsed::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(JsonKind::kObject); }
  bool key(const std::string& value) { return string(value); }
  bool end_object() { return close(); }
  bool start_array(std::size_t /*size*/) { return open(JsonKind::kList); }
  bool end_array() { return close(); }

  [[noreturn]] bool parse_error(std::size_t position,
                                const std::string& /*token*/,
                                const Parsed::exception& /*error*/) {
    throw JsonError("no valid JSON at byte " + std::to_string(position));
  }
};

void JsonDocument::read(std::string_view text) {
  start(&values_);
  start(&open_);
  start(&texts_);
  JsonEvents events{this};
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
}

// ---- Places -----------------------------------------------------------------

std::size_t JsonPlace::after(std::size_t index) const {
  const JsonDocument::Value& value = document_->at(index);
  const bool has_items =
      value.kind == JsonKind::kList || value.kind == JsonKind::kObject;
  return has_items ? value.end : index + 1;
}

std::string JsonPlace::where() const {
  if (parent_ == nullptr) return {};
  const std::string outside = parent_->where();
  if (parent_->kind() == JsonKind::kList) {
    return outside + '[' + std::to_string(number_) + ']';
  }
  return outside + (outside.empty() ? "" : ".") + std::string(key_);
}

void JsonPlace::fail(std::string_view what) const {
  const std::string place = where();
  throw JsonError((place.empty() ? "the request" : place) + ": " +
                  std::string(what));
}

void JsonPlace::fail_unknown() const { fail("there is no such field"); }

void JsonPlace::require(JsonKind kind, std::string_view what) const {
  if (value_->kind != kind) fail("must be " + std::string(what));
}

// Searches all earlier keys, because objects of requests are small.
void JsonPlace::check_once(std::size_t key) const {
  const std::string_view name = document_->text(document_->at(key));
  for (std::size_t i = index() + 1; i < key; i = after(i + 1)) {
    if (document_->text(document_->at(i)) == name) {
      fail("has the field " + std::string(name) + " twice");
    }
  }
}

std::string_view JsonPlace::text() const {
  require(JsonKind::kText, "a text");
  return document_->text(*value_);
}

bool JsonPlace::flag() const {
  if (kind() != JsonKind::kTrue && kind() != JsonKind::kFalse) {
    fail("must be true or false");
  }
  return kind() == JsonKind::kTrue;
}

namespace {

// `real` if it has no fraction and is so small that it is exact.
template <typename Number>
std::optional<Number> without_fraction(double real) {
  static constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(std::fabs(real) <= kExact) || real != std::floor(real)) {
    return std::nullopt;
  }
  if (std::is_unsigned_v<Number> && real < 0) return std::nullopt;
  return static_cast<Number>(real);
}

template <typename Number>
std::optional<Number> number_of(const JsonDocument::Value& value,
                                std::string_view text) {
  switch (value.kind) {
    case JsonKind::kInteger:
      if (std::is_unsigned_v<Number> && value.integer < 0) return std::nullopt;
      return static_cast<Number>(value.integer);
    case JsonKind::kUnsigned:
      if (!std::is_unsigned_v<Number>) return std::nullopt;
      return static_cast<Number>(value.whole);
    case JsonKind::kReal:
      return without_fraction<Number>(value.real);
    case JsonKind::kText: {
      Number number{};
      if (!read_digits(text, &number)) return std::nullopt;
      return number;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

template <typename Number>
Number JsonPlace::number(Number least, Number greatest) const {
  const auto number = number_of<Number>(
      *value_, kind() == JsonKind::kText ? document_->text(*value_) : "");
  if (!number || *number < least || *number > greatest) {
    fail("must be a whole number from " + std::to_string(least) + " to " +
         std::to_string(greatest));
  }
  return *number;
}

std::int64_t JsonPlace::integer(std::int64_t least,
                                std::int64_t greatest) const {
  return number(least, greatest);
}

std::uint64_t JsonPlace::whole(std::uint64_t greatest) const {
  return number(std::uint64_t{0}, greatest);
}

}  // namespace limitree::server
