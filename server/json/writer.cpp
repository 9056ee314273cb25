#include "json/writer.hpp"

#include <charconv>

#include "net/text.hpp"

namespace limitree::server {

namespace {

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
      size = character_size(text);
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
