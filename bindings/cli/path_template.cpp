#include "path_template.hpp"

#include <utility>

#include "failure.hpp"

namespace limitree::cli {

namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& reason) {
  throw UsageError("--path '" + std::string(text) + "': " + reason);
}

// Reads "{name}" at text[*at] and moves *at after it.
Field read_field(std::string_view text, const LogFields& fields,
                 std::size_t* at) {
  const std::size_t end = text.find('}', *at);
  if (end == std::string_view::npos) refuse(text, "a '{' is never closed");
  const std::string_view name = text.substr(*at + 1, end - *at - 1);
  const std::optional<Field> field = fields.find(name);
  if (!field) {
    refuse(text, "no field is called {" + std::string(name) + "}; there are " +
                     fields.list());
  }
  *at = end + 1;
  return *field;
}

// Reads the character after a backslash at text[*at] and moves *at after it.
char read_escaped(std::string_view text, std::size_t* at) {
  const std::string_view next = text.substr(*at + 1, 1);
  if (next.empty() ||
      std::string_view(",{}\\").find(next) == std::string_view::npos) {
    refuse(text, "a backslash must stand before , { } or another \\");
  }
  *at += 2;
  return next[0];
}

}  // namespace

PathTemplate::PathTemplate(std::string_view text, const LogFields& fields) {
  for (std::size_t at = 0;; ++at) {  // skips the comma
    append_segment(text, fields, &at);
    if (at == text.size()) break;
  }
  path_.resize(segments_.size());
}

void PathTemplate::append_segment(std::string_view text,
                                  const LogFields& fields, std::size_t* at) {
  Segment segment;
  Piece piece;
  while (*at < text.size() && text[*at] != ',') {
    if (text[*at] == '}') refuse(text, "a '}' closes nothing");
    if (text[*at] == '{') {
      piece.field = read_field(text, fields, at);
      segment.pieces.push_back(std::exchange(piece, {}));
    } else if (text[*at] == '\\') {
      piece.literal += read_escaped(text, at);
    } else {
      piece.literal += text[(*at)++];
    }
  }
  if (!piece.literal.empty()) segment.pieces.push_back(std::move(piece));
  if (segment.pieces.empty()) {
    refuse(text,
           "segment " + std::to_string(segments_.size() + 1) + " is empty");
  }
  segments_.push_back(std::move(segment));
}

std::optional<std::string_view> PathTemplate::root() const {
  const std::vector<Piece>& pieces = segments_.front().pieces;
  if (pieces.size() > 1 || pieces.front().field) return std::nullopt;
  return pieces.front().literal;
}

std::vector<std::string> PathTemplate::patterns() const {
  std::vector<std::string> names;
  for (const Segment& segment : segments_) {
    std::string name;
    for (const Piece& piece : segment.pieces) {
      name += piece.literal;
      if (piece.field && !name.ends_with('*')) name += '*';
    }
    names.push_back(std::move(name));
  }
  return names;
}

void PathTemplate::fill(const LogRequest& request) {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    Segment& segment = segments_[i];
    const Piece& first = segment.pieces.front();
    std::string_view text = first.literal;
    if (segment.pieces.size() == 1 && first.literal.empty()) {
      text = request[*first.field];
    } else if (segment.pieces.size() > 1 || first.field) {
      segment.joined.clear();
      for (const Piece& piece : segment.pieces) {
        segment.joined += piece.literal;
        if (piece.field) segment.joined += request[*piece.field];
      }
      text = segment.joined;
    }
    path_[i] = {text.data(), text.size()};
  }
}

void PathTemplate::append_text(std::string* text) const {
  for (std::size_t i = 0; i < path_.size(); ++i) {
    if (i != 0) *text += ',';
    for (const char c : std::string_view(path_[i].data, path_[i].size)) {
      if (c == ',' || c == '{' || c == '}' || c == '\\') *text += '\\';
      *text += c;
    }
  }
}

}  // namespace limitree::cli
