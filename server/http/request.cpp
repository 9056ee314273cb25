#include "http/request.hpp"

#include <algorithm>

#include "net/text.hpp"

namespace limitree::server {

void HttpRequest::set_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    target.remove_prefix(std::min(target.find_first_of("/?"), target.size()));
    break;
  }
  const std::size_t mark = std::min(target.find('?'), target.size());
  path_ = target.substr(0, mark);
  query_ = target.substr(std::min(mark + 1, target.size()));
  if (path_.empty()) path_ = "/";
}

void HttpRequest::add_field(std::string_view name, std::string_view value) {
  const std::size_t begin = fields_text_.size();
  for (const char byte : name) fields_text_.push_back(lower(byte));
  fields_text_.append(value);
  fields_.push_back({begin, begin + name.size(), fields_text_.size()});
}

std::string_view HttpRequest::name_of(const Field& field) const {
  return std::string_view(fields_text_)
      .substr(field.name, field.value - field.name);
}

std::string_view HttpRequest::value_of(const Field& field) const {
  return std::string_view(fields_text_)
      .substr(field.value, field.end - field.value);
}

std::string_view HttpRequest::field(std::string_view name) const {
  for (const Field& field : fields_) {
    if (name_of(field) == name) return value_of(field);
  }
  return {};
}

std::size_t HttpRequest::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      fields_.begin(), fields_.end(),
      [&](const Field& field) { return name_of(field) == name; }));
}

void HttpRequest::clear() {
  for (std::string* text : {&method, &body, &path_, &query_, &fields_text_}) {
    empty_text(text);
  }
  constexpr std::size_t kMostKept = 128;
  fields_.clear();
  if (fields_.capacity() > kMostKept) fields_.shrink_to_fit();
}

}  // namespace limitree::server
