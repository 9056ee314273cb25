#include "tree/boulder.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limit.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"
#include "tree/boulder_yaml.hpp"
#include "tree/key_kind.hpp"
#include "tree/read_limits.hpp"

namespace limitree {

namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 3> kFields = {"burst", "count",
                                                     "period"};
constexpr std::array<std::string_view, 4> kOverrideFields = {"burst", "count",
                                                             "period", "ids"};
constexpr std::array<std::string_view, 2> kIdFields = {"id", "comment"};

class BoulderReader {
 public:
  BoulderReader(Problems* problems, Problems* warnings)
      : problems_(problems), warnings_(warnings) {}

  void read_defaults(const YamlDocument& document);
  void read_overrides(const YamlDocument& document);
  std::string yaml() const { return boulder_yaml(said_); }

 private:
  // A key of a mapping and its value, as an index of the document.
  struct Entry {
    Value key;
    std::size_t value;
  };

  std::vector<Entry> entries(std::size_t map) const;
  const YamlNode& node(std::size_t i) const { return (*document_)[i]; }
  const BoulderName* name_of(const Value& text);
  BoulderText read_limit(std::size_t map, Words fields);
  bool read_field(const Entry& entry, std::int64_t* burst, std::int64_t* count,
                  Duration* period);
  bool read_count(const Entry& entry, std::int64_t* number);
  void read_item(std::size_t item);
  void read_named(const Entry& entry);
  void read_old(const Entry& entry);
  void read_id(const BoulderName& name, std::size_t value,
               const BoulderText& limits);
  void add_id(const BoulderName& name, const Value& id,
              const BoulderText& limits);
  bool refuse(const Value& id, std::string_view part, std::string_view key,
              std::string* canonical);
  void add(Mark mark, std::string what) {
    problems_->add(mark, std::move(what));
  }

  const YamlDocument* document_ = nullptr;
  Problems* problems_;
  Problems* warnings_;  // about settings without effect
  BoulderLimits said_;
};

std::vector<BoulderReader::Entry> BoulderReader::entries(
    std::size_t map) const {
  std::vector<Entry> entries;
  for (std::size_t key = map + 1; key < node(map).end;) {
    const std::size_t value = node(key).end;
    if (node(key).kind == Kind::kScalar && node(key).size > 0) {
      entries.push_back({{document_->text(node(key)), node(key).mark}, value});
    }
    key = node(value).end;
  }
  return entries;
}

const BoulderName* BoulderReader::name_of(const Value& text) {
  for (const BoulderName& name : kBoulderNames) {
    if (name.text == text.text) return &name;
  }
  std::array<std::string_view, kBoulderNames.size()> known;
  std::transform(kBoulderNames.begin(), kBoulderNames.end(), known.begin(),
                 [](const BoulderName& name) { return name.text; });
  add(text.mark, unknown_word("limit", text.text, known));
  return nullptr;
}

bool BoulderReader::read_count(const Entry& entry, std::int64_t* number) {
  const std::string what(entry.key.text);
  const std::optional<Value> value =
      read_scalar(*document_, node(entry.value),
                  what + " must be a whole number", problems_);
  if (!value) return false;
  Result<std::int64_t> read = parse_integer(value->text);
  if (!read.ok()) {
    add(value->mark, what + " " + read.status().error().messages.front());
    return false;
  }
  *number = read.value();
  if (*number > 0) return true;
  add(value->mark,
      what + " must be greater than 0, is " + std::to_string(*number));
  return false;
}

bool BoulderReader::read_field(const Entry& entry, std::int64_t* burst,
                               std::int64_t* count, Duration* period) {
  if (entry.key.text == "burst") return read_count(entry, burst);
  if (entry.key.text == "count") return read_count(entry, count);
  const std::optional<Value> value =
      read_scalar(*document_, node(entry.value),
                  "period must be a duration such as 180m", problems_);
  if (!value) return false;
  const std::optional<Duration> read = parse_go_duration(value->text);
  if (read && *read > Duration::zero()) {
    *period = *read;
    return true;
  }
  add(value->mark, "period must be a duration such as 180m or 1h30m, is " +
                       quote(value->text));
  return false;
}

// Reads the limit in the mapping `map`.  Returns an empty text, and reports a
// problem, if there is none.
BoulderText BoulderReader::read_limit(std::size_t map, Words fields) {
  const Mark mark = node(map).mark;
  if (node(map).kind == Kind::kRefused) return {};
  if (node(map).kind != Kind::kMapping) {
    add(mark, "a limit must be a mapping of burst, count and period, is " +
                  document_->describe(node(map)));
    return {};
  }
  std::int64_t burst = 0;
  std::int64_t count = 0;
  Duration period{};
  std::vector<std::string_view> seen;
  bool good = true;
  for (const Entry& entry : entries(map)) {
    if (!contains(fields, entry.key.text)) {
      add(entry.key.mark,
          unknown_word("key of a limit", entry.key.text, fields));
      good = false;
    } else if (entry.key.text != "ids") {
      good &= read_field(entry, &burst, &count, &period);
    }
    seen.push_back(entry.key.text);
  }
  for (const std::string_view field : kFields) {
    if (contains(seen, field)) continue;
    add(mark, std::string(field) + " is missing");
    good = false;
  }
  if (!good) return {};
  Result<Rate> rate = make_rate(count, period, burst);
  if (!rate.ok()) {
    add(mark, rate.status().error().messages.front());
    return {};
  }
  std::string text = format_duration(period);
  // "1.5s" is for people; limits.yaml takes whole numbers only.
  if (text.find('.') != text.npos) text = std::to_string(period.count()) + "ns";
  return "{limits: {burst: " + std::to_string(burst) +
         ", count: " + std::to_string(count) + ", period: " + text + "}}";
}

void BoulderReader::read_defaults(const YamlDocument& document) {
  document_ = &document;
  if (node(0).kind == Kind::kRefused) return;
  if (node(0).kind != Kind::kMapping) {
    add(node(0).mark, "a mapping of names to limits is expected, is " +
                          document.describe(node(0)));
    return;
  }
  for (const Entry& entry : entries(0)) {
    const BoulderName* const name = name_of(entry.key);
    const BoulderText limits = read_limit(entry.value, kFields);
    if (name != nullptr && !name->defaults) {
      warnings_->add(entry.key.mark, std::string(name->text) +
                                         " has overrides alone: a default has "
                                         "no effect");
    }
    if (name == nullptr || !name->defaults) continue;
    said_[static_cast<std::size_t>(name - kBoulderNames.data())].defaults =
        limits;
  }
}

void BoulderReader::read_overrides(const YamlDocument& document) {
  document_ = &document;
  switch (node(0).kind) {
    case Kind::kRefused:
      return;
    case Kind::kMapping:
      for (const Entry& entry : entries(0)) read_old(entry);
      return;
    case Kind::kSequence:
      for (std::size_t i = 1; i < node(0).end; i = node(i).end) read_item(i);
      return;
    case Kind::kScalar:
      add(node(0).mark,
          "a list of overrides is expected, is " + document.describe(node(0)));
  }
}

// "- NewOrdersPerAccount: {burst: ..., ids: [...]}"
void BoulderReader::read_item(std::size_t item) {
  if (node(item).kind == Kind::kRefused) return;
  if (node(item).kind != Kind::kMapping) {
    add(node(item).mark, "an override must be a mapping of a name, is " +
                             document_->describe(node(item)));
    return;
  }
  for (const Entry& entry : entries(item)) read_named(entry);
}

void BoulderReader::read_named(const Entry& entry) {
  const BoulderName* const name = name_of(entry.key);
  const BoulderText limits = read_limit(entry.value, kOverrideFields);
  if (node(entry.value).kind != Kind::kMapping) return;
  const std::vector<Entry> fields = entries(entry.value);
  const auto ids =
      std::find_if(fields.begin(), fields.end(),
                   [](const Entry& field) { return field.key.text == "ids"; });
  if (ids == fields.end()) {
    add(node(entry.value).mark, "ids is missing");
  } else if (node(ids->value).kind != Kind::kSequence) {
    add(node(ids->value).mark,
        "ids must be a list, is " + document_->describe(node(ids->value)));
  } else if (name != nullptr) {
    for (std::size_t i = ids->value + 1; i < node(ids->value).end;
         i = node(i).end) {
      read_id(*name, i, limits);
    }
  }
}

// "NewOrdersPerAccount:12345: {burst: ..., ...}", the old form.
void BoulderReader::read_old(const Entry& entry) {
  const BoulderText limits = read_limit(entry.value, kFields);
  const std::size_t colon = entry.key.text.find(':');
  if (colon == std::string_view::npos) {
    add(entry.key.mark, "an override is name:id, is " + quote(entry.key.text));
    return;
  }
  const BoulderName* const name =
      name_of({entry.key.text.substr(0, colon), entry.key.mark});
  if (name == nullptr) return;
  add_id(*name, {entry.key.text.substr(colon + 1), entry.key.mark}, limits);
}

// An id, or a mapping of id and comment.
void BoulderReader::read_id(const BoulderName& name, std::size_t value,
                            const BoulderText& limits) {
  std::optional<Value> id;
  if (node(value).kind == Kind::kMapping) {
    for (const Entry& entry : entries(value)) {
      if (!contains(kIdFields, entry.key.text)) {
        add(entry.key.mark,
            unknown_word("key of an id", entry.key.text, kIdFields));
      } else if (entry.key.text == "id") {
        id = read_scalar(*document_, node(entry.value), "id must be a text",
                         problems_);
        if (!id) return;
      }
    }
    if (!id) add(node(value).mark, "id is missing");
  } else {
    id =
        read_scalar(*document_, node(value), "an id must be a text", problems_);
  }
  if (id) add_id(name, *id, limits);
}

// Sets *canonical to the canonical form of `part` of an id.  Returns true, and
// reports a problem or a warning, if the id gets no override.
bool BoulderReader::refuse(const Value& id, std::string_view part,
                           std::string_view key, std::string* canonical) {
  Result<Key> kind = parse_key(key);
  if (!kind.ok()) {
    add(id.mark, kind.status().error().messages.front());
    return true;
  }
  CanonicalId canonical_id;
  if (part.empty() || part.find('*') != part.npos) {
    add(id.mark, "an id must not be empty or have a *, is " + quote(id.text));
    return true;
  }
  if (const char* const wrong = canonical_id.set(kind.value(), part)) {
    add(id.mark, quote(part) + " " + wrong);
    return true;
  }
  *canonical = canonical_id.view();
  const bool host = kind.value().kind == KeyKind::kDomain &&
                    canonical->find(':') == canonical->npos;
  const auto dots = [](std::string_view name) {
    return std::count(name.begin(), name.end(), '.') - name.ends_with('.');
  };
  if (host && dots(part) != dots(*canonical)) {
    warnings_->add(id.mark, quote(part) + " is counted as " +
                                quote(*canonical) +
                                ": an override of it has no effect");
    return true;
  }
  return false;
}

void BoulderReader::add_id(const BoulderName& name, const Value& id,
                           const BoulderText& limits) {
  std::string_view head = id.text;
  std::string_view rest;
  const std::size_t colon = head.find(':');
  const bool both = !name.below.empty() && colon != head.npos;
  if (both) {
    rest = head.substr(colon + 1);
    head = head.substr(0, colon);
  }
  std::string first;
  std::string second = "*";
  if (refuse(id, head, name.key, &first)) return;
  if (both && refuse(id, rest, name.below, &second)) return;
  if (name.below.empty()) second.clear();
  BoulderLimit& said =
      said_[static_cast<std::size_t>(&name - kBoulderNames.data())];
  if (!limits.empty() && limits == said.defaults) {
    warnings_->add(id.mark, "the override of " + std::string(name.text) +
                                " for " + quote(id.text) +
                                " says what its default says");
  }
  if (!said.ids[first].emplace(second, limits).second) {
    add(id.mark, "a second override of " + std::string(name.text) + " for " +
                     quote(id.text));
  }
}

}  // namespace

Result<std::string> limits_from_boulder(const LimitsText& defaults,
                                        const LimitsText& overrides,
                                        std::vector<std::string>* warnings) {
  Problems problems;
  Problems harmless;
  BoulderReader reader(&problems, &harmless);
  YamlDocument document;
  if (document.read(defaults.yaml, &problems, "names and limits")) {
    reader.read_defaults(document);
  }
  problems.set_text(1);
  harmless.set_text(1);
  YamlDocument other;
  if (other.read(overrides.yaml, &problems, "a list of overrides")) {
    reader.read_overrides(other);
  }
  const std::array<std::string_view, 2> origins = {defaults.origin,
                                                   overrides.origin};
  if (!problems.empty()) return problems.to_status(origins);
  if (warnings != nullptr && !harmless.empty()) {
    *warnings = harmless.to_status(origins).error().messages;
  }
  return reader.yaml();
}

}  // namespace limitree
