#include "stats/mogrifier.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "base/digits.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

// The most memory for a compiled pattern.
constexpr std::int64_t kMaxPatternMemory = 1 << 20;
// The largest size of the result for one name.
constexpr std::size_t kMaxSize = 4096;

std::unique_ptr<RE2> compile(const std::string& variable,
                             const std::string& pattern) {
  if (pattern.empty()) throw Failure(variable + " is missing");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxPatternMemory);
  auto compiled = std::make_unique<RE2>(pattern, options);
  if (!compiled->ok()) throw Failure(variable + ": " + compiled->error());
  return compiled;
}

// What is too large loses its end, in whole characters.
void cut(std::string* text) {
  if (text->size() <= kMaxSize) return;
  std::size_t size = kMaxSize;
  while (size > 0 && ((*text)[size] & 0xC0) == 0x80) --size;
  text->resize(size);
}

// Returns the text with what the groups matched.
std::string fill(const GroupText& from,
                 const std::vector<re2::StringPiece>& groups) {
  std::string text;
  for (const GroupText::Piece& piece : from.pieces) {
    text += piece.text;
    const re2::StringPiece& group = groups[piece.group];
    text.append(group.data(), group.size());
    if (text.size() > kMaxSize) break;
  }
  text += from.rest;
  cut(&text);
  return text;
}

Tag parse_tag(std::string_view variable, std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool is_pair = colon != text.npos && colon > 0 &&
                       colon + 1 < text.size() &&
                       text.find(':', colon + 1) == text.npos;
  if (!is_pair) {
    throw Failure(std::string(variable) + ": '" + std::string(text) +
                  "' is not NAME:VALUE");
  }
  return {std::string(text.substr(0, colon)),
          std::string(text.substr(colon + 1))};
}

}  // namespace

std::vector<Tag> parse_tags(std::string_view variable, std::string_view text) {
  std::vector<Tag> tags;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    tags.push_back(parse_tag(variable, text.substr(0, comma)));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  std::stable_sort(tags.begin(), tags.end(),
                   [](const Tag& a, const Tag& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < tags.size(); ++i) {
    if (tags[i - 1].name == tags[i].name) {
      throw Failure(std::string(variable) + ": '" + tags[i].name +
                    "' is there twice");
    }
  }
  return tags;
}

Mogrifier::Mogrifier(const MogrifierSettings& settings) {
  const std::string prefix = "DOG_STATSD_MOGRIFIER_" + settings.name;
  pattern_ = compile(prefix + "_PATTERN", settings.pattern);
  if (settings.new_name.empty()) throw Failure(prefix + "_NAME is missing");
  name_ = parse(prefix + "_NAME", settings.new_name);
  for (const Tag& tag : parse_tags(prefix + "_TAGS", settings.tags)) {
    tags_.push_back({tag.name, parse(prefix + "_TAGS", tag.value)});
  }
}

Mogrifier::Mogrifier(Mogrifier&&) noexcept = default;
Mogrifier::~Mogrifier() = default;

GroupText Mogrifier::parse(const std::string& variable,
                           std::string_view text) const {
  const auto groups =
      static_cast<std::size_t>(pattern_->NumberOfCapturingGroups());
  GroupText result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size() || !is_digit(text[i + 1])) {
      result.rest += text[i];
      continue;
    }
    const std::size_t begin = i;
    std::size_t group = 0;
    while (i + 1 < text.size() && is_digit(text[i + 1])) {
      group = group * 10 + static_cast<std::size_t>(text[++i] - '0');
      if (group <= groups) continue;
      throw Failure(variable + ": " +
                    std::string(text.substr(begin, i + 1 - begin)) +
                    " is too large: the pattern has " + std::to_string(groups) +
                    (groups == 1 ? " group" : " groups"));
    }
    result.pieces.push_back({std::exchange(result.rest, {}), group});
  }
  return result;
}

bool Mogrifier::apply(TaggedName* result) const {
  std::vector<re2::StringPiece> groups(
      static_cast<std::size_t>(pattern_->NumberOfCapturingGroups()) + 1);
  const std::string before = result->name;
  if (!pattern_->Match(before, 0, before.size(), RE2::UNANCHORED, groups.data(),
                       static_cast<int>(groups.size()))) {
    return false;
  }
  result->name = fill(name_, groups);
  for (const GroupTag& tag : tags_) {
    result->tags.push_back({tag.name, fill(tag.value, groups)});
  }
  return true;
}

}  // namespace limitree::server
