#include "text/yaml.hpp"

#include <yaml.h>

#include <algorithm>
#include <new>
#include <unordered_set>

#include "base/utf8.hpp"
#include "text/text_file.hpp"
#include "text/yaml_references.hpp"

namespace limitree {

namespace {

using Kind = YamlNode::Kind;

Mark to_mark(const yaml_mark_t& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1),
          static_cast<std::uint32_t>(mark.column + 1)};
}

std::string_view to_view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view()
                         : reinterpret_cast<const char*>(text);
}

// The first byte of character number `index`, counted from 0.
char character(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) {
    at += std::max<std::size_t>(utf8_size(text.substr(at)), 1);
  }
  return at < text.size() ? text[at] : '\0';
}

struct Event : yaml_event_t {
  Event() : yaml_event_t() {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(this); }
};

// Reports every key that `mapping` has twice.
void refuse_duplicates(const YamlDocument& document, std::size_t mapping,
                       Problems* problems) {
  std::unordered_set<std::string_view> seen;
  seen.reserve(document[mapping].size / 2);
  for (std::size_t key = mapping + 1; key < document[mapping].end;) {
    const std::size_t value = document[key].end;
    if (document[key].kind == Kind::kScalar) {
      const std::string_view text = document.text(document[key]);
      if (!seen.insert(text).second) {
        problems->add(document[key].mark, "duplicate key " + quote(text));
      }
    }
    key = document[value].end;
  }
}

// The same for all mappings in [`first`, `end`).
void refuse_all_duplicates(const YamlDocument& document, std::size_t first,
                           std::size_t end, Problems* problems) {
  for (std::size_t i = first; i < end; ++i) {
    if (document[i].kind == Kind::kMapping && document[i].size > 2) {
      refuse_duplicates(document, i, problems);
    }
  }
}

}  // namespace

// One pass over the events of one text.
class YamlReader {
 public:
  // If `take` is null, the whole document is kept.
  YamlReader(std::string_view yaml, YamlDocument* document, Problems* problems,
             std::string_view expected, const TakeEntry* take, YamlForm form);
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  ~YamlReader() { yaml_parser_delete(&parser_); }

  bool read();

 private:
  bool take(const Event& event);
  bool begin(Kind kind, const Event& event, const yaml_char_t* anchor,
             const yaml_char_t* tag);
  bool end();
  bool add(const YamlNode& node);
  bool scalar(const Event& event);
  bool alias(const Event& event);
  void refuse_properties(const yaml_char_t* anchor, const yaml_char_t* tag,
                         Mark mark);
  bool at_key() const;
  void ended();
  void check_key(const YamlNode& node);
  void syntax_error();
  bool stop(Mark mark, std::string what) {
    problems_->add(mark, std::move(what));
    return false;
  }

  std::string_view yaml_;
  YamlDocument* document_;
  Problems* problems_;
  std::string_view expected_;
  const TakeEntry* take_;
  yaml_parser_t parser_;
  std::optional<YamlReferences> references_;
  std::vector<std::uint32_t> open_;  // collections that have not ended
  bool done_ = false;
  bool document_seen_ = false;
};

YamlReader::YamlReader(std::string_view yaml, YamlDocument* document,
                       Problems* problems, std::string_view expected,
                       const TakeEntry* take, YamlForm form)
    : yaml_(yaml),
      document_(document),
      problems_(problems),
      expected_(expected),
      take_(take) {
  if (form == YamlForm::kReferences) {
    references_.emplace(&document->nodes_, &document->text_, problems);
  }
  if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
  if (yaml.data() == nullptr) yaml = "";  // libyaml would crash
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(
      &parser_, reinterpret_cast<const unsigned char*>(yaml.data()),
      yaml.size());
}

bool YamlReader::read() {
  while (!done_) {
    Event event;
    if (yaml_parser_parse(&parser_, &event) == 0) {
      if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
      syntax_error();
      return false;
    }
    if (!take(event)) return false;
  }
  if (!document_->nodes_.empty()) return true;
  return stop(Mark(), "nothing here: expected " + std::string(expected_));
}

bool YamlReader::take(const Event& event) {
  switch (event.type) {
    case YAML_DOCUMENT_START_EVENT:
      if (document_seen_) {
        return stop(to_mark(event.start_mark),
                    "a second document: only one is allowed");
      }
      document_seen_ = true;
      return true;
    case YAML_SEQUENCE_START_EVENT:
      return begin(Kind::kSequence, event, event.data.sequence_start.anchor,
                   event.data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
      return begin(Kind::kMapping, event, event.data.mapping_start.anchor,
                   event.data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return end();
    case YAML_SCALAR_EVENT:
      return scalar(event);
    case YAML_ALIAS_EVENT:
      return alias(event);
    case YAML_STREAM_END_EVENT:
      done_ = true;
      return true;
    default:
      return true;
  }
}

bool YamlReader::begin(Kind kind, const Event& event, const yaml_char_t* anchor,
                       const yaml_char_t* tag) {
  const Mark mark = to_mark(event.start_mark);
  if (!references_) refuse_properties(anchor, tag, mark);
  if (open_.size() == kMaxYamlDepth) {
    return stop(mark, "nested deeper than " + std::to_string(kMaxYamlDepth));
  }
  if (!add({kind, false, mark, 0, 0, 0})) return false;
  const std::size_t node = document_->nodes_.size() - 1;
  open_.push_back(static_cast<std::uint32_t>(node));
  if (!references_) return true;
  references_->check_collection(to_view(tag), mark);
  references_->begin(to_view(anchor), node);
  return true;
}

bool YamlReader::end() {
  const std::size_t node = open_.back();
  document_->nodes_[node].end =
      static_cast<std::uint32_t>(document_->nodes_.size());
  open_.pop_back();
  ended();
  return !references_ || references_->end(node);
}

// Called when a node is complete.  An entry of the outermost mapping is handed
// over and forgotten.
void YamlReader::ended() {
  std::vector<YamlNode>& nodes = document_->nodes_;
  if (take_ == nullptr || open_.size() != 1) return;
  if (nodes[0].kind != Kind::kMapping || nodes[0].size % 2 != 0) return;
  refuse_all_duplicates(*document_, 1, nodes.size(), problems_);
  if (nodes[1].kind == Kind::kScalar) (*take_)(*document_);
  nodes.resize(1);
  document_->text_.clear();
}

// Whether the next node is a key of the innermost mapping.
bool YamlReader::at_key() const {
  if (open_.empty()) return false;
  const YamlNode& holder = document_->nodes_[open_.back()];
  return holder.kind == Kind::kMapping && holder.size % 2 == 0;
}

bool YamlReader::add(const YamlNode& node) {
  std::vector<YamlNode>& nodes = document_->nodes_;
  if (nodes.size() == kMaxYamlNodes) {
    return stop(node.mark,
                "more than " + std::to_string(kMaxYamlNodes) + " values");
  }
  if (at_key()) check_key(node);
  if (!open_.empty()) ++nodes[open_.back()].size;
  nodes.push_back(node);
  nodes.back().end = static_cast<std::uint32_t>(nodes.size());
  const bool whole = node.kind == Kind::kScalar || node.kind == Kind::kRefused;
  if (whole) ended();
  return true;
}

void YamlReader::check_key(const YamlNode& node) {
  if (node.kind == Kind::kSequence || node.kind == Kind::kMapping) {
    problems_->add(node.mark, "a key must be a name, is a list or mapping");
  } else if (node.kind == Kind::kScalar && node.plain) {
    const std::string_view text = document_->text(node);
    if (text.empty()) problems_->add(node.mark, "a key is missing before :");
    if (text == "<<" && !references_) {
      problems_->add(node.mark, "merge keys are not allowed");
    }
  }
}

bool YamlReader::scalar(const Event& event) {
  const auto& scalar = event.data.scalar;
  const Mark mark = to_mark(event.start_mark);
  bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (!references_) {
    refuse_properties(scalar.anchor, scalar.tag, mark);
  } else if (scalar.tag != nullptr) {
    plain = !references_->makes_text(to_view(scalar.tag), mark);
  }
  const YamlNode node{Kind::kScalar,
                      plain,
                      mark,
                      static_cast<std::uint32_t>(document_->text_.size()),
                      static_cast<std::uint32_t>(scalar.length),
                      0};
  document_->text_.append(reinterpret_cast<const char*>(scalar.value),
                          scalar.length);
  if (!add(node)) return false;
  if (!references_) return true;
  const std::size_t index = document_->nodes_.size() - 1;
  references_->begin(to_view(scalar.anchor), index);
  return references_->end(index);
}

bool YamlReader::alias(const Event& event) {
  const Mark mark = to_mark(event.start_mark);
  const std::string_view name = to_view(event.data.alias.anchor);
  std::vector<YamlNode>& nodes = document_->nodes_;
  if (!references_) {
    problems_->add(
        mark, "aliases are not allowed: a name with * must be quoted, as " +
                  quote("*" + std::string(name)));
    return add({Kind::kRefused, true, mark, 0, 0, 0});
  }
  const std::size_t first = nodes.size();
  if (!references_->append(name, mark, open_.size())) return false;
  if (at_key()) check_key(nodes[first]);
  if (!open_.empty()) ++nodes[open_.back()].size;
  return true;
}

void YamlReader::refuse_properties(const yaml_char_t* anchor,
                                   const yaml_char_t* tag, Mark mark) {
  if (anchor != nullptr) {
    problems_->add(mark, "anchors are not allowed: " +
                             quote("&" + std::string(to_view(anchor))));
  }
  if (tag != nullptr) {
    problems_->add(mark, "tags are not allowed: " + quote(to_view(tag)));
  }
}

void YamlReader::syntax_error() {
  const std::string_view problem =
      parser_.problem == nullptr ? "unreadable" : parser_.problem;
  const std::string_view context =
      parser_.context == nullptr ? "" : parser_.context;
  if (context == "while scanning an alias") {
    problems_->add(to_mark(parser_.context_mark),
                   "\"*\" must be quoted: a bare * begins an alias");
    return;
  }
  const Mark mark = to_mark(parser_.problem_mark);
  if (problem == "found character that cannot start any token" &&
      character(yaml_, parser_.problem_mark.index) == '\t') {
    problems_->add(mark, "not YAML: tabs are not allowed as indentation");
    return;
  }
  std::string what = "not YAML: " + std::string(problem);
  if (!context.empty()) what += " " + std::string(context);
  problems_->add(mark, std::move(what));
}

bool YamlDocument::read(std::string_view yaml, Problems* problems,
                        std::string_view expected, YamlForm form) {
  if (yaml.size() > kMaxYamlSize) {
    problems->add(Mark(), "the file has " + std::to_string(yaml.size()) +
                              " bytes, more than " +
                              std::to_string(kMaxYamlSize));
    return false;
  }
  yaml = without_mark(yaml);
  if (!check_text(yaml, problems)) return false;
  YamlReader reader(yaml, this, problems, expected, nullptr, form);
  if (!reader.read()) return false;
  refuse_all_duplicates(*this, 0, nodes_.size(), problems);
  return true;
}

bool read_yaml_entries(std::string_view yaml, Problems* problems,
                       const TakeEntry& take) {
  YamlDocument document;
  yaml = without_mark(yaml);
  if (!check_text(yaml, problems)) return false;
  YamlReader reader(yaml, &document, problems, "ids and their limits", &take,
                    YamlForm::kData);
  if (!reader.read()) return false;
  const YamlNode& root = document[0];
  if (root.kind == Kind::kMapping || root.kind == Kind::kRefused) return true;
  problems->add(root.mark, "a mapping of ids to limits is expected, is " +
                               document.describe(root));
  return false;
}

}  // namespace limitree
