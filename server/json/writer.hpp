// Writes JSON.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace limitree::server {

// Appends values to a text and puts commas between them.
class JsonWriter {
 public:
  explicit JsonWriter(std::string* out) : out_(out) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_list() { open('['); }
  void end_list() { close(']'); }

  // In an object: before each value.  `name` needs no escapes.
  void key(std::string_view name);
  void any_key(std::string_view name);  // with escapes

  void text(std::string_view value);
  void number(std::int64_t value);
  void whole(std::uint64_t value);
  void flag(bool value);
  void null();

  // Members of an object, whose names need no escapes.
  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void number(std::string_view name, std::int64_t value) {
    key(name);
    number(value);
  }
  void whole(std::string_view name, std::uint64_t value) {
    key(name);
    whole(value);
  }
  void flag(std::string_view name, bool value) {
    key(name);
    flag(value);
  }

  // Begins a new line, for people and for messages about the text.
  void new_line() { *out_ += '\n'; }
  // A value that is JSON already.
  void json(std::string_view value) { plain(value); }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void plain(std::string_view text);

  std::string* out_;
  bool needs_comma_ = false;
};

}  // namespace limitree::server
