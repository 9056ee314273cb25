#include "tree/schema.hpp"

#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"
#include "tree/compile.hpp"
#include "tree/draft.hpp"
#include "tree/nodes.hpp"
#include "tree/overrides.hpp"
#include "tree/read_limits.hpp"

namespace limitree {

namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 2> kDocumentKeys = {"schema", "mode"};
constexpr std::array<std::string_view, 7> kBelowTopKeys = {
    "limits",      "children", "overrides", "key",
    "ipv6_prefix", "inherit",  "share"};
constexpr std::int64_t kMaxIpv6Prefix = 128;

// Reads the nodes of one document, from the top down.
class SchemaReader {
 public:
  SchemaReader(const YamlDocument& document, TextBounds bounds,
               Problems* problems)
      : document_(document), bounds_(bounds), problems_(problems) {}

  // Each appends the top-level names of the document, whose number is `text`,
  // to *roots: all names below `schema`, or one whose node is the document.
  void read(std::size_t text, std::vector<RootDraft>* roots);
  void read_one(std::string_view name, std::vector<RootDraft>* roots);

 private:
  void read_roots(std::size_t map, std::size_t text,
                  std::vector<RootDraft>* roots);
  void read_root(const YamlField& entry, RootDraft* root);
  bool expect_mapping(std::string_view what, std::size_t value);
  void read_node(std::size_t value, Draft* draft);
  void read_key(const YamlField& entry, Draft* draft);
  void read_children(std::size_t map, Draft* draft);
  void read_limits(std::size_t value, Draft* draft);
  void read_overrides(const YamlField& entry, Draft* draft);
  void read_id_kind(const YamlField& entry, Draft* draft);
  void read_ipv6_prefix(const YamlField& entry, Draft* draft);
  bool read_bool(const YamlField& entry, bool otherwise);
  void refuse_key(const YamlField& entry);
  std::uint32_t add_place(std::string_view name);
  bool at_top() const { return depth_ == 0; }
  void add(Mark mark, std::string what) {
    problems_->add(mark, std::move(what));
  }

  const YamlDocument& document_;
  const TextBounds bounds_;
  Problems* problems_;
  Nodes* nodes_ = nullptr;                 // of the top-level name being read
  Charge charge_ = Charge::kAllOrNothing;  // of the top-level name being read
  bool shadow_ = false;                    // `mode: shadow` of the document
  std::uint32_t parent_ = kNoIndex;        // place of the node above
  std::size_t depth_ = 0;                  // 0: at top-level names
};

void SchemaReader::read(std::size_t text, std::vector<RootDraft>* roots) {
  const YamlNode& root = document_[0];
  if (!expect_kind(document_, root, Kind::kMapping,
                   "a mapping with the key \"schema\" is expected",
                   problems_)) {
    return;
  }
  bool found = false;
  const std::vector<YamlField> all = document_.fields(0);
  // The schema needs it, wherever it stands.
  for (const YamlField& entry : all) {
    if (entry.key.text != "mode") continue;
    shadow_ = read_shadow(document_, document_[entry.value], problems_);
  }
  for (const YamlField& entry : all) {
    if (entry.key.text == "mode") continue;
    if (entry.key.text != "schema") {
      add(entry.key.mark, unknown_word("key", entry.key.text, kDocumentKeys));
      found |= !nearest(entry.key.text, kDocumentKeys).empty();
    } else if (!std::exchange(found, true)) {
      read_roots(entry.value, text, roots);
    }
  }
  if (!found) add(root.mark, "the key \"schema\" is missing");
}

void SchemaReader::read_one(std::string_view name,
                            std::vector<RootDraft>* roots) {
  roots->push_back({Draft(), std::make_shared<Nodes>(), 0});
  read_root({{name, document_[0].mark}, 0}, &roots->back());
}

bool SchemaReader::expect_mapping(std::string_view what, std::size_t value) {
  const YamlNode& node = document_[value];
  if (node.kind == Kind::kMapping && node.size > 0) return true;
  if (node.kind == Kind::kRefused) return false;
  const bool empty = node.kind == Kind::kMapping;
  add(node.mark, std::string(what) + " must be a mapping of names, is " +
                     (empty ? "empty" : document_.describe(node)));
  return false;
}

void SchemaReader::read_roots(std::size_t map, std::size_t text,
                              std::vector<RootDraft>* roots) {
  if (!expect_mapping("schema", map)) return;
  for (const YamlField& entry : document_.fields(map)) {
    RootDraft root{Draft(), std::make_shared<Nodes>(), text};
    read_root(entry, &root);
    roots->push_back(std::move(root));
  }
}

void SchemaReader::read_root(const YamlField& entry, RootDraft* root) {
  if (entry.key.text.empty()) {
    add(entry.key.mark, "a top-level name must not be empty");
  } else if (entry.key.text.find('*') != std::string_view::npos) {
    add(entry.key.mark,
        "a top-level name must be literal, is " + quote(entry.key.text));
  }
  Draft& draft = root->draft;
  nodes_ = root->nodes.get();
  draft.name = entry.key.text;
  draft.mark = entry.key.mark;
  draft.place = add_place(entry.key.text);
  charge_ = Charge::kAllOrNothing;
  nodes_->shadow = shadow_;
  read_node(entry.value, &draft);
}

std::uint32_t SchemaReader::add_place(std::string_view name) {
  const Text text{static_cast<std::uint32_t>(nodes_->text.size()),
                  static_cast<std::uint32_t>(name.size())};
  nodes_->text += name;
  nodes_->places.push_back({parent_, text});
  return static_cast<std::uint32_t>(nodes_->places.size() - 1);
}

void SchemaReader::read_node(std::size_t value, Draft* draft) {
  const YamlNode& node = document_[value];
  if (node.kind == Kind::kRefused) return;
  if (node.kind != Kind::kMapping) {
    add(node.mark, "a node must be a mapping with limits or children, is " +
                       document_.describe(node) +
                       (document_.is_null(node) ? ": {} states nothing" : ""));
    return;
  }
  const std::vector<YamlField> all = document_.fields(value);
  // All limits below need it, wherever it stands.
  for (const YamlField& entry : all) {
    if (!at_top()) break;
    const YamlNode& said = document_[entry.value];
    if (entry.key.text == "charge") {
      charge_ =
          read_charge(document_, said, false, problems_).value_or(charge_);
    } else if (entry.key.text == "mode") {
      nodes_->shadow |= read_shadow(document_, said, problems_);
    }
  }
  draft->charge = charge_;
  for (const YamlField& entry : all) read_key(entry, draft);

  if (!draft->overrides.empty() && any_child(*draft) == nullptr) {
    add(draft->overrides_mark,
        "overrides needs \"*\" among the children beside it");
  }
}

void SchemaReader::read_key(const YamlField& entry, Draft* draft) {
  if (entry.key.text == "limits") {
    read_limits(entry.value, draft);
  } else if (entry.key.text == "children") {
    read_children(entry.value, draft);
  } else if (entry.key.text == "key") {
    read_id_kind(entry, draft);
  } else if (entry.key.text == "overrides") {
    read_overrides(entry, draft);
  } else if (entry.key.text == "ipv6_prefix") {
    read_ipv6_prefix(entry, draft);
  } else if (entry.key.text == "inherit") {
    draft->inherit = read_bool(entry, true);
    const bool any = draft->pattern == PatternKind::kAny;
    if (at_top() || any) {
      add(entry.key.mark, std::string("inherit has no meaning on ") +
                              (any ? "\"*\"" : "a top-level name"));
    }
  } else if (entry.key.text == "share") {
    draft->share = read_bool(entry, false);
    if (draft->pattern == PatternKind::kExact) {
      add(entry.key.mark, "share needs a pattern or a network, " +
                              quote(draft->name) + " is a literal name");
    }
  } else if (!at_top() ||
             (entry.key.text != "charge" && entry.key.text != "mode")) {
    refuse_key(entry);
  }
}

void SchemaReader::refuse_key(const YamlField& entry) {
  const Words known = at_top() ? Words(kNodeKeys) : Words(kBelowTopKeys);
  const bool mapping = document_[entry.value].kind == Kind::kMapping;
  if (entry.key.text == "charge") {
    add(entry.key.mark, "charge belongs to a top-level name or to a limit");
  } else if (entry.key.text == "mode") {
    add(entry.key.mark,
        "mode belongs to the file, to a top-level name or to a limit");
  } else if (contains(kLimitKeys, entry.key.text)) {
    add(entry.key.mark, std::string(entry.key.text) + " belongs into limits");
  } else if (mapping && nearest(entry.key.text, known).empty()) {
    add(entry.key.mark, "unknown key of a node " + quote(entry.key.text) +
                            ", names belong into children");
  } else {
    add(entry.key.mark, unknown_word("key of a node", entry.key.text, known));
  }
}

void SchemaReader::read_children(std::size_t map, Draft* draft) {
  if (!expect_mapping("children", map)) return;
  const std::uint32_t above = std::exchange(parent_, draft->place);
  ++depth_;
  for (const YamlField& entry : document_.fields(map)) {
    Draft child;
    child.name = entry.key.text;
    child.pattern = pattern_kind(entry.key.text);
    child.mark = entry.key.mark;
    child.place = add_place(entry.key.text);
    read_node(entry.value, &child);
    draft->children.push_back(std::move(child));
  }
  --depth_;
  parent_ = above;
}

void SchemaReader::read_limits(std::size_t value, Draft* draft) {
  std::vector<Limit> limits =
      LimitReader(document_, charge_, problems_).read(value);
  draft->limits_stated = true;
  if (nodes_->policy_bytes > bounds_.policy_bytes) return;  // is reported
  const std::string path = nodes_->path(draft->place);
  nodes_->policy_bytes += limits.size() * path.size();
  if (nodes_->policy_bytes > bounds_.policy_bytes) {
    add(draft->mark,
        "the names of all limits up to here, each with the names above it, "
        "have more than " +
            std::to_string(bounds_.policy_bytes) + " bytes");
    return;
  }
  draft->limits = nodes_->add_limits(std::move(limits), path);
}

void SchemaReader::read_overrides(const YamlField& entry, Draft* draft) {
  constexpr std::string_view kMust =
      "overrides must be the name of a .csv, .yaml or .yml file";
  const std::optional<Value> value =
      read_scalar(document_, document_[entry.value], kMust, problems_);
  if (!value) return;
  if (!is_overrides_name(value->text)) {
    add(value->mark, std::string(kMust) + ", is " + quote(value->text));
    return;
  }
  draft->overrides = value->text;
  draft->overrides_mark = value->mark;
}

void SchemaReader::read_id_kind(const YamlField& entry, Draft* draft) {
  const std::optional<Value> value = read_scalar(
      document_, document_[entry.value], "key must be a word", problems_);
  if (!value) return;
  if (const auto key = problems_->take(parse_key(value->text), value->mark)) {
    draft->key = key;
    draft->key_mark = entry.key.mark;
  }
}

void SchemaReader::read_ipv6_prefix(const YamlField& entry, Draft* draft) {
  const std::optional<Value> value =
      read_scalar(document_, document_[entry.value],
                  "ipv6_prefix must be a whole number", problems_);
  if (!value) return;
  const auto prefix =
      problems_->take(parse_integer(value->text, 1, kMaxIpv6Prefix),
                      value->mark, "ipv6_prefix ");
  if (!prefix) return;
  draft->ipv6_prefix = static_cast<std::uint8_t>(*prefix);
  draft->prefix_mark = entry.key.mark;
}

bool SchemaReader::read_bool(const YamlField& entry, bool otherwise) {
  const std::string must =
      std::string(entry.key.text) + " must be true or false";
  const std::optional<Value> value =
      read_scalar(document_, document_[entry.value], must, problems_);
  if (!value) return otherwise;
  if (value->text == "true") return true;
  if (value->text == "false") return false;
  add(value->mark, must + ", is " + quote(value->text));
  return otherwise;
}

// A top-level name that an earlier text has too; within one text it would be a
// duplicate key.
void refuse_shared_roots(std::span<const RootDraft> roots,
                         std::span<const std::string_view> origins,
                         Problems* problems) {
  std::unordered_map<std::string_view, std::size_t> text_of;
  for (const RootDraft& root : roots) {
    const std::string_view name = root.draft.name;
    const std::size_t first = text_of.emplace(name, root.text).first->second;
    if (first == root.text) continue;
    problems->set_text(root.text);
    problems->add(root.draft.mark, quote(name) + " is a top-level name of " +
                                       printable(origins[first]) + " already");
  }
}

// Compiles `roots` to a tree that can be walked, or returns what is wrong with
// them.
Status finish(std::span<const RootDraft> roots, const OverrideFiles& files,
              TextBounds bounds, Problems* problems) {
  compile(roots, files, bounds.nodes, problems);
  return problems->empty() ? Status() : problems->to_status(files.origins);
}

}  // namespace

Result<Tree> load_tree(std::string_view yaml, std::string_view origin,
                       const ReadFile& read) {
  const LimitsText text{yaml, origin};
  return load_tree(std::span(&text, 1), read);
}

Result<Tree> load_tree(std::span<const LimitsText> texts,
                       const ReadFile& read) {
  Problems problems;
  std::vector<std::string_view> origins;
  for (const LimitsText& text : texts) origins.push_back(text.origin);

  // Drafts borrow from the documents.
  std::vector<YamlDocument> documents(texts.size());
  bool readable = true;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    problems.set_text(i, texts[i].yaml);
    readable &= documents[i].read(texts[i].yaml, &problems);
  }
  if (!readable) return problems.to_status(origins);

  std::vector<RootDraft> roots;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    problems.set_text(i);
    SchemaReader(documents[i], {}, &problems).read(i, &roots);
  }
  refuse_shared_roots(roots, origins, &problems);
  Status status = finish(roots, {origins, read}, {}, &problems);
  if (!status.ok()) return status;
  std::vector<std::shared_ptr<Nodes>> all;
  all.reserve(roots.size());
  for (RootDraft& root : roots) all.push_back(std::move(root.nodes));
  return Tree(std::move(all));
}

Result<std::shared_ptr<Nodes>> load_root(std::string_view name,
                                         const LimitsText& text,
                                         const ReadFile& read,
                                         TextBounds bounds) {
  if (!is_printable(name)) {
    return Status(Code::kInvalidConfig,
                  "a top-level name must be UTF-8 without control characters, "
                  "is " +
                      quote(name));
  }
  Problems problems;
  problems.set_text(0, text.yaml);
  YamlDocument document;
  if (!document.read(text.yaml, &problems, "limits or children")) {
    return problems.to_status(text.origin);
  }
  std::vector<RootDraft> roots;
  SchemaReader(document, bounds, &problems).read_one(name, &roots);
  Status status =
      finish(roots, {std::span(&text.origin, 1), read}, bounds, &problems);
  if (!status.ok()) return status;
  return std::move(roots.front().nodes);
}

}  // namespace limitree
