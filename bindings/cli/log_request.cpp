#include "log_request.hpp"

#include <algorithm>

namespace limitree::cli {

namespace {

constexpr std::array<std::string_view, kFieldCount> kFieldNames = {
    "remote_addr", "remote_user", "method", "path",    "query",     "target",
    "protocol",    "status",      "bytes",  "referer", "user_agent"};

bool is_method(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '-' || c == '_';
         });
}

}  // namespace

std::string_view field_name(Field field) {
  return kFieldNames[static_cast<std::size_t>(field)];
}

std::optional<Field> field_of(std::string_view name) {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    if (kFieldNames[i] == name) return static_cast<Field>(i);
  }
  return std::nullopt;
}

LogFields LogFields::common() {
  LogFields fields;
  for (const std::string_view name : kFieldNames) fields.add(name);
  return fields;
}

std::optional<Field> LogFields::find(std::string_view name) const {
  for (const Named& named : names_) {
    if (named.name == name) return named.field;
  }
  return std::nullopt;
}

std::optional<Field> LogFields::add(std::string_view name) {
  if (const auto field = find(name)) return field;
  std::optional<Field> field = field_of(name);
  if (!field) {
    if (kFieldCount + others_ == kMaxFields) return std::nullopt;
    field = static_cast<Field>(kFieldCount + others_++);
  }
  names_.push_back({std::string(name), *field});
  return field;
}

std::string LogFields::list() const {
  std::string names;
  for (const Named& named : names_) {
    names += (names.empty() ? "" : ", ") + named.name;
  }
  return names;
}

std::optional<std::string_view> cut(std::string_view* rest, char mark) {
  const std::size_t end = rest->find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(end + 1);
  return part;
}

std::optional<std::string_view> cut_quoted(std::string_view* rest) {
  std::size_t end = 0;
  for (;;) {
    end = rest->find('"', end + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::size_t escapes = 0;
    while ((*rest)[end - 1 - escapes] == '\\') ++escapes;
    if (escapes % 2 == 0) break;
  }
  const std::string_view text = rest->substr(1, end - 1);
  rest->remove_prefix(end + 1);
  return text;
}

void split_target(std::string_view target, LogRequest* request) {
  (*request)[Field::kTarget] = target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  (*request)[Field::kPath] = target.substr(0, mark);
  (*request)[Field::kQuery] = target.substr(std::min(mark + 1, target.size()));
}

void split_request(std::string_view text, LogRequest* request) {
  for (const Field field : {Field::kMethod, Field::kPath, Field::kQuery,
                            Field::kTarget, Field::kProtocol}) {
    (*request)[field] = "-";
  }
  const std::optional<std::string_view> method = cut(&text, ' ');
  if (!method || !is_method(*method)) return;
  // A target may contain blanks that a client did not encode.
  const std::size_t last = text.rfind(' ');
  std::string_view target = text;
  if (last != std::string_view::npos &&
      text.substr(last + 1).starts_with("HTTP/")) {
    (*request)[Field::kProtocol] = text.substr(last + 1);
    target = text.substr(0, last);
  }
  if (target.empty()) return;
  (*request)[Field::kMethod] = *method;
  split_target(target, request);
}

std::string LineMistake::text() const {
  const std::string place =
      column > 1 ? "column " + std::to_string(column) + ": " : "";
  return place + std::string(reason);
}

}  // namespace limitree::cli
