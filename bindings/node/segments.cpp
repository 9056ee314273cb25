#include "segments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace limitree::node {

namespace {

bool is_high(char16_t unit) { return (unit & 0xfc00) == 0xd800; }
bool is_low(char16_t unit) { return (unit & 0xfc00) == 0xdc00; }

const char* refuse(napi_valuetype type) {
  if (type == napi_undefined) return "must be a string, is undefined";
  if (type == napi_null) return "must be a string, is null";
  if (type == napi_boolean) return "must be a string, is a boolean";
  if (type == napi_symbol) return "must be a string, is a symbol";
  if (type == napi_function) return "must be a string, is a function";
  return "must be a string, is an object";
}

bool is_whole(double number) {
  return std::abs(number) <= 9007199254740991.0 && std::trunc(number) == number;
}

}  // namespace

std::optional<std::string> to_utf8(const Napi::String& text) {
  const std::u16string units = text.Utf16Value();
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool is_pair =
        is_high(units[i]) && i + 1 < units.size() && is_low(units[i + 1]);
    if (is_pair) {
      ++i;
    } else if (is_high(units[i]) || is_low(units[i])) {
      return std::nullopt;
    }
  }
  return text.Utf8Value();
}

const char* Segments::read(napi_env env, const napi_value* values,
                           std::size_t count, std::size_t* index) {
  limitree_str* segments = few_.data();
  if (size_ + count > few_.size()) {
    many_.assign(few_.data(), few_.data() + size_);
    many_.resize(size_ + count);
    segments = many_.data();
  }
  for (std::size_t i = 0; i < count; ++i, ++size_) {
    const char* const wrong = read_one(env, values[i], &segments[size_]);
    if (wrong != nullptr) {
      *index = size_;
      return wrong;
    }
  }
  return nullptr;
}

const char* Segments::read_one(napi_env env, napi_value value,
                               limitree_str* segment) {
  std::array<char16_t, 128> wide;
  std::size_t length = 0;
  if (napi_get_value_string_utf16(env, value, wide.data(), wide.size(),
                                  &length) != napi_ok) {
    return read_other(env, value, segment);
  }
  // A text that fills the array may be cut off.
  if (length + 1 < wide.size() && keep_ascii({wide.data(), length}, segment)) {
    return nullptr;
  }
  std::optional<std::string> utf8 = to_utf8(Napi::String(env, value));
  if (!utf8) return "has an unpaired surrogate: it is not text";
  return keep_long(*std::move(utf8), segment);
}

// Many callers are identified by whole numbers.
const char* Segments::read_other(napi_env env, napi_value value,
                                 limitree_str* segment) {
  napi_valuetype type = napi_undefined;
  napi_typeof(env, value, &type);
  if (type == napi_number) {
    double number = 0;
    napi_get_value_double(env, value, &number);
    if (!is_whole(number)) {
      return "must be a string or a whole number, is another number";
    }
    return keep(static_cast<std::int64_t>(number), segment);
  }
  if (type != napi_bigint) {
    return refuse(type);
  }
  napi_value text;
  if (napi_coerce_to_string(env, value, &text) != napi_ok) {
    return "cannot be read";
  }
  return read_one(env, text, segment);
}

const char* Segments::keep(std::int64_t number, limitree_str* segment) {
  char* const to = text_.data() + used_;
  const auto [end, error] =
      std::to_chars(to, text_.data() + text_.size(), number);
  if (error != std::errc()) return keep_long(std::to_string(number), segment);
  const auto size = static_cast<std::size_t>(end - to);
  used_ += size;
  *segment = {to, size};
  return nullptr;
}

// False if `text` is not ASCII or there is not enough room in text_.
bool Segments::keep_ascii(std::u16string_view text, limitree_str* segment) {
  char16_t all = 0;
  for (const char16_t unit : text) all = static_cast<char16_t>(all | unit);
  if (all >= 0x80 || text.size() > text_.size() - used_) return false;
  char* const to = text_.data() + used_;
  std::ranges::transform(text, to,
                         [](char16_t unit) { return static_cast<char>(unit); });
  used_ += text.size();
  *segment = {to, text.size()};
  return true;
}

const char* Segments::keep_long(std::string text, limitree_str* segment) {
  const std::string& kept =
      *longs_.emplace_back(std::make_unique<std::string>(std::move(text)));
  *segment = {kept.data(), kept.size()};
  return nullptr;
}

}  // namespace limitree::node
