#include "json/writer.hpp"

#include <charconv>

#include "base/utf8.hpp"

namespace limitree::server {

namespace {

template <typename Number>
void append_number(Number number, std::string* out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out->append(text, end);
}

}  // namespace

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
  append_json(value, out_);
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
