// A request of HTTP, in any version.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/timer.hpp"

namespace limitree::server {

// Empties a text of a request or an answer, which keeps memory for the next
// one, but not much: there may be many idle connections.
inline void empty_text(std::string* text) {
  constexpr std::size_t kMaxKept = 4 * 1024;
  text->clear();
  if (text->capacity() > kMaxKept) text->shrink_to_fit();
}

// The memory is reused for one request after the other.
class HttpRequest {
 public:
  std::string method;  // "GET"
  std::string body;
  Monotonic begun{};  // the turn of the loop in which it began to come

  // Takes the target of the request line, or :path: "/stats?x=1",
  // "http://host/stats".
  void set_target(std::string_view target);
  std::string_view path() const { return path_; }
  std::string_view query() const { return query_; }

  // `name` may have capital letters, which become small ones.
  void add_field(std::string_view name, std::string_view value);
  // The value of the first field with that name, in small letters; empty if
  // there is none.
  std::string_view field(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // Calls `use(name, value)` for each field.
  template <typename Use>
  void each_field(const Use& use) const {
    for (const Field& field : fields_) use(name_of(field), value_of(field));
  }

  void clear();

 private:
  struct Field {
    std::size_t name;  // where it begins in fields_text_
    std::size_t value;
    std::size_t end;
  };

  std::string_view name_of(const Field& field) const;
  std::string_view value_of(const Field& field) const;

  std::string path_;
  std::string query_;
  std::string fields_text_;
  std::vector<Field> fields_;
};

}  // namespace limitree::server
