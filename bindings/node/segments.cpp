#include "segments.hpp"

#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace limitree::node {

namespace {

bool is_high(char16_t unit) { return (unit & 0xfc00) == 0xd800; }
bool is_low(char16_t unit) { return (unit & 0xfc00) == 0xdc00; }

void append_code_point(char32_t code, std::string* out) {
  const auto tail = [&](unsigned shift) {
    out->push_back(static_cast<char>(0x80 | ((code >> shift) & 0x3f)));
  };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | (code >> 6)));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | (code >> 12)));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xf0 | (code >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

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

bool append_utf8(std::u16string_view text, std::string* out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    char32_t code = text[i];
    if (is_high(text[i])) {
      if (i + 1 == text.size() || !is_low(text[i + 1])) return false;
      code = 0x10000 + ((code & 0x3ff) << 10) + (text[++i] & 0x3ffu);
    } else if (is_low(text[i])) {
      return false;
    }
    append_code_point(code, out);
  }
  return true;
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
  if (length + 1 < wide.size()) {
    return keep({wide.data(), length}, segment);
  }
  // The text may be cut off, so ask for its length.
  if (napi_get_value_string_utf16(env, value, nullptr, 0, &length) != napi_ok) {
    return "cannot be read";
  }
  std::u16string all(length + 1, u'\0');
  if (napi_get_value_string_utf16(env, value, all.data(), all.size(),
                                  &length) != napi_ok) {
    return "cannot be read";
  }
  return keep({all.data(), length}, segment);
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

const char* Segments::keep(std::u16string_view text, limitree_str* segment) {
  char16_t all = 0;
  for (const char16_t unit : text) all = static_cast<char16_t>(all | unit);
  if (all < 0x80 && text.size() <= text_.size() - used_) {
    char* const to = text_.data() + used_;
    for (std::size_t i = 0; i < text.size(); ++i) {
      to[i] = static_cast<char>(text[i]);
    }
    used_ += text.size();
    *segment = {to, text.size()};
    return nullptr;
  }
  std::string utf8;
  if (!append_utf8(text, &utf8)) {
    return "has an unpaired surrogate: it is not text";
  }
  return keep_long(std::move(utf8), segment);
}

const char* Segments::keep_long(std::string text, limitree_str* segment) {
  const std::string& kept =
      *longs_.emplace_back(std::make_unique<std::string>(std::move(text)));
  *segment = {kept.data(), kept.size()};
  return nullptr;
}

}  // namespace limitree::node
