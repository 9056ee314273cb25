#include "tree/boulder.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/limit.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"
#include "text/yaml_text.hpp"
#include "tree/key_kind.hpp"
#include "tree/read_limits.hpp"

namespace limitree {

namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 4> kOverrideFields = {"burst", "count",
                                                             "period", "ids"};
constexpr Words kFields = Words(kOverrideFields).first(3);
constexpr std::array<std::string_view, 2> kIdFields = {"id", "comment"};

// One of Boulder's limits, and the form of a path below its name.
struct BoulderName {
  std::string_view text;
  std::string_view key;    // of the id
  std::string_view below;  // of the part after the id; empty: there is none
  bool defaults = true;    // whether Boulder looks at a default
};

constexpr std::array<BoulderName, 9> kBoulderNames = {{
    {"NewRegistrationsPerIPAddress", "ip", ""},
    {"NewRegistrationsPerIPv6Range", "cidr6/48", ""},
    {"NewOrdersPerAccount", "integer", ""},
    {"FailedAuthorizationsPerDomainPerAccount", "integer", "text"},
    {"CertificatesPerDomain", "domain", ""},
    {"CertificatesPerDomainPerAccount", "integer", "domain", false},
    {"CertificatesPerFQDNSet", "fqdn_set", ""},
    {"FailedAuthorizationsForPausingPerDomainPerAccount", "integer", "text"},
    {"LimitOverrideRequestsPerIPAddress", "ip", ""},
}};

// "{limits: {burst: 20, count: 20, period: 1s}}"
using BoulderText = std::string;

// From the part after an id, or from nothing, to its limits.
using BoulderBelow = std::map<std::string, BoulderText>;

// What the files say about one name; the default is that of "*".
using BoulderIds = std::map<std::string, BoulderBelow>;

using BoulderLimits = std::array<BoulderIds, kBoulderNames.size()>;

// "{key: domain, children: {"*": {limits: ...}}}"
std::string below_text(const BoulderName& name, const BoulderBelow& below) {
  std::string text = "{";
  if (name.below != "text") text += "key: " + std::string(name.below) + ", ";
  text += "children: {";
  for (const auto& [id, limits] : below) {
    if (!text.ends_with('{')) text += ", ";
    text += "? " + yaml_quoted(id) + " : " + limits;
  }
  return text + "}}";
}

std::string boulder_yaml(const BoulderLimits& limits) {
  std::string yaml = "schema:\n";
  for (std::size_t i = 0; i < kBoulderNames.size(); ++i) {
    const BoulderName& name = kBoulderNames[i];
    yaml += "  " + std::string(name.text) + ":";
    if (limits[i].empty()) {
      yaml += " {}\n";  // no limits
      continue;
    }
    yaml += "\n    key: " + std::string(name.key) + "\n";
    if (name.key == "ip") yaml += "    ipv6_prefix: 128\n";
    yaml += "    children:\n";
    for (const auto& [id, below] : limits[i]) {
      append_yaml_key("      ", id.size(), yaml_quoted(id), &yaml);
      yaml += ' ';
      yaml +=
          name.below.empty() ? below.begin()->second : below_text(name, below);
      yaml += '\n';
    }
  }
  return yaml;
}

class BoulderReader {
 public:
  BoulderReader(Problems* problems, Problems* warnings)
      : problems_(problems), warnings_(warnings) {}

  void read_defaults(const YamlDocument& document);
  void read_overrides(const YamlDocument& document);
  std::string yaml() const { return boulder_yaml(limits_); }

 private:
  struct Stated {
    std::int64_t burst = 0;
    std::int64_t count = 0;
    Duration period{};
  };

  const YamlNode& node(std::size_t i) const { return (*document_)[i]; }
  const BoulderName* name_of(const Value& text);
  BoulderText read_limit(std::size_t map, Words fields,
                         std::size_t* ids = nullptr);
  bool read_field(const YamlField& field, Stated* limit);
  void read_named(const YamlField& entry);
  void read_old(const YamlField& entry);
  void read_id(const BoulderName& name, std::size_t value,
               const BoulderText& limits);
  void add_id(const BoulderName& name, const Value& id,
              const BoulderText& limits);
  bool refuse(const Value& id, std::string_view part, std::string_view key,
              std::string* canonical);
  void add(Mark mark, std::string what) {
    problems_->add(mark, std::move(what));
  }
  bool expect(std::size_t i, Kind kind, std::string_view must) {
    return expect_kind(*document_, node(i), kind, must, problems_);
  }
  BoulderIds* ids_of(const BoulderName& name) {
    return &limits_[static_cast<std::size_t>(&name - kBoulderNames.data())];
  }

  const YamlDocument* document_ = nullptr;
  Problems* problems_;
  Problems* warnings_;  // about settings without effect
  BoulderLimits limits_;
};

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

bool BoulderReader::read_field(const YamlField& field, Stated* limit) {
  const bool is_period = field.key.text == "period";
  const std::string what(field.key.text);
  const std::optional<Value> value =
      read_scalar(*document_, node(field.value),
                  what + (is_period ? " must be a duration such as 180m"
                                    : " must be a whole number"),
                  problems_);
  if (!value) return false;
  if (!is_period) {
    const auto number =
        problems_->take(parse_integer(value->text, 1), value->mark, what + " ");
    (what == "burst" ? limit->burst : limit->count) = number.value_or(0);
    return number.has_value();
  }
  limit->period = parse_go_duration(value->text).value_or(Duration::zero());
  if (limit->period > Duration::zero()) return true;
  add(value->mark, "period must be a duration such as 180m or 1h30m, is " +
                       quote(value->text));
  return false;
}

// Reads the limit in the mapping `map`, and sets *ids to the value of that key.
// Returns an empty text, and reports a problem, if there is no limit.
BoulderText BoulderReader::read_limit(std::size_t map, Words fields,
                                      std::size_t* ids) {
  if (!expect(map, Kind::kMapping,
              "a limit must be a mapping of burst, count and period")) {
    return {};
  }
  const Mark mark = node(map).mark;
  Stated limit;
  std::vector<std::string_view> seen;
  bool good = true;
  for (const YamlField& entry : document_->fields(map)) {
    if (!contains(fields, entry.key.text)) {
      add(entry.key.mark,
          unknown_word("key of a limit", entry.key.text, fields));
      good = false;
    } else if (entry.key.text == "ids") {
      *ids = entry.value;
    } else {
      good &= read_field(entry, &limit);
    }
    seen.push_back(entry.key.text);
  }
  for (const std::string_view field : kFields) {
    if (contains(seen, field)) continue;
    add(mark, std::string(field) + " is missing");
    good = false;
  }
  good = good && problems_->take(
                     make_rate(limit.count, limit.period, limit.burst), mark);
  if (!good) return {};
  return "{limits: {burst: " + std::to_string(limit.burst) +
         ", count: " + std::to_string(limit.count) +
         ", period: " + format_duration(limit.period) + "}}";
}

void BoulderReader::read_defaults(const YamlDocument& document) {
  document_ = &document;
  if (!expect(0, Kind::kMapping, "a mapping of names to limits is expected")) {
    return;
  }
  for (const YamlField& entry : document_->fields(0)) {
    const BoulderName* const name = name_of(entry.key);
    const BoulderText limits = read_limit(entry.value, kFields);
    if (name != nullptr && !name->defaults) {
      warnings_->add(entry.key.mark, std::string(name->text) +
                                         " has overrides alone: a default has "
                                         "no effect");
    }
    if (name == nullptr || !name->defaults || limits.empty()) continue;
    (*ids_of(*name))["*"] = {{name->below.empty() ? "" : "*", limits}};
  }
}

void BoulderReader::read_overrides(const YamlDocument& document) {
  document_ = &document;
  if (node(0).kind == Kind::kMapping) {
    for (const YamlField& entry : document_->fields(0)) read_old(entry);
    return;
  }
  if (!expect(0, Kind::kSequence, "a list of overrides is expected")) return;
  for (std::size_t i = 1; i < node(0).end; i = node(i).end) {
    if (!expect(i, Kind::kMapping, "an override must be a mapping of a name")) {
      continue;
    }
    for (const YamlField& entry : document_->fields(i)) read_named(entry);
  }
}

// "NewOrdersPerAccount: {burst: ..., ids: [...]}"
void BoulderReader::read_named(const YamlField& entry) {
  const BoulderName* const name = name_of(entry.key);
  std::size_t ids = 0;
  const BoulderText limits = read_limit(entry.value, kOverrideFields, &ids);
  if (node(entry.value).kind != Kind::kMapping) return;
  if (ids == 0) {
    add(node(entry.value).mark, "ids is missing");
  } else if (expect(ids, Kind::kSequence, "ids must be a list") &&
             name != nullptr) {
    for (std::size_t i = ids + 1; i < node(ids).end; i = node(i).end) {
      read_id(*name, i, limits);
    }
  }
}

// "NewOrdersPerAccount:12345: {burst: ..., ...}", the old form.
void BoulderReader::read_old(const YamlField& entry) {
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
  const bool is_mapping = node(value).kind == Kind::kMapping;
  std::size_t at = is_mapping ? 0 : value;
  if (is_mapping) {
    for (const YamlField& entry : document_->fields(value)) {
      if (entry.key.text == "id") at = entry.value;
      if (contains(kIdFields, entry.key.text)) continue;
      add(entry.key.mark,
          unknown_word("key of an id", entry.key.text, kIdFields));
    }
  }
  if (at == 0) {
    add(node(value).mark, "id is missing");
    return;
  }
  const std::optional<Value> id = read_scalar(
      *document_, node(at),
      is_mapping ? "id must be a text" : "an id must be a text", problems_);
  if (id) add_id(name, *id, limits);
}

// Sets *canonical to the canonical form of `part` of an id.  Returns true, and
// reports a problem or a warning, if the id gets no override.
bool BoulderReader::refuse(const Value& id, std::string_view part,
                           std::string_view key, std::string* canonical) {
  const std::optional<Key> kind = problems_->take(parse_key(key), id.mark);
  if (!kind) return true;
  CanonicalId canonical_id;
  if (part.empty() || part.find('*') != part.npos) {
    add(id.mark, "an id must not be empty or have a *, is " + quote(id.text));
    return true;
  }
  if (const char* const wrong = canonical_id.set(*kind, part)) {
    add(id.mark, quote(part) + " " + wrong);
    return true;
  }
  *canonical = canonical_id.view();
  const bool host =
      kind->kind == KeyKind::kDomain && canonical->find(':') == canonical->npos;
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
  BoulderIds& ids = *ids_of(name);
  const auto all = ids.find("*");
  if (all != ids.end() && limits == all->second.begin()->second) {
    warnings_->add(id.mark, "the override of " + std::string(name.text) +
                                " for " + quote(id.text) +
                                " says what its default says");
  }
  if (!ids[first].emplace(second, limits).second) {
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
