#include "json/writer.hpp"

#include <charconv>

namespace limitree::server {

namespace {

// The size of the character of UTF-8 that `text` begins with; 0 if there is
// none.
std::size_t size_of_first(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xC2   ? 0
                           : first < 0xE0 ? 2
                           : first < 0xF0 ? 3
                                          : 4;
  if (size == 0 || first > 0xF4) return 0;
  // The second byte tells overlong forms, surrogates and what is too large.
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned greatest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > greatest) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return size;
}

void append_escape(char byte, std::string* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  switch (byte) {
    case '"':
      *out += "\\\"";
      break;
    case '\\':
      *out += "\\\\";
      break;
    case '\n':
      *out += "\\n";
      break;
    default:
      *out += "\\u00";
      *out += kDigits[static_cast<unsigned char>(byte) >> 4];
      *out += kDigits[byte & 15];
      break;
  }
}

template <typename Number>
void append_number(Number number, std::string* out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out->append(text, end);
}

}  // namespace

void append_json_text(std::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    const char byte = text[0];
    std::size_t size = 1;
    if (static_cast<unsigned char>(byte) >= 0x80) {
      size = size_of_first(text);
      *out += size == 0 ? "\xEF\xBF\xBD" : text.substr(0, size);
      size += size == 0 ? 1 : 0;
    } else if (byte < ' ' || byte == '"' || byte == '\\' || byte == 0x7F) {
      append_escape(byte, out);
    } else {
      *out += byte;
    }
    text.remove_prefix(size);
  }
  *out += '"';
}

void JsonWriter::separate() {
  if (needs_comma_) *out_ += ',';
  needs_comma_ = true;
}

void JsonWriter::open(char bracket) {
  separate();
  *out_ += bracket;
  needs_comma_ = false;
}

void JsonWriter::close(char bracket) {
  *out_ += bracket;
  needs_comma_ = true;
}

void JsonWriter::key(std::string_view name) {
  separate();
  *out_ += '"';
  *out_ += name;
  *out_ += "\":";
  needs_comma_ = false;
}

void JsonWriter::any_key(std::string_view name) {
  text(name);
  *out_ += ':';
  needs_comma_ = false;
}

void JsonWriter::plain(std::string_view text) {
  separate();
  *out_ += text;
}

void JsonWriter::text(std::string_view value) {
  separate();
  append_json_text(value, out_);
}

void JsonWriter::number(std::int64_t value) {
  separate();
  append_number(value, out_);
}

void JsonWriter::whole(std::uint64_t value) {
  separate();
  append_number(value, out_);
}

void JsonWriter::flag(bool value) { plain(value ? "true" : "false"); }

void JsonWriter::null() { plain("null"); }

}  // namespace limitree::server
