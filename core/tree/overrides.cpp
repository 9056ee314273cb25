#include "tree/overrides.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/limit.hpp"
#include "text/csv.hpp"
#include "text/number.hpp"
#include "text/yaml.hpp"
#include "tree/id_table.hpp"
#include "tree/pattern.hpp"
#include "tree/read_limits.hpp"

namespace limitree {

namespace {

constexpr std::size_t kMaxOverridesSize = std::size_t{512} << 20;

// Reads one such file, in CSV or YAML.  Limits go to *nodes, each once however
// many ids have it; mistakes go to *problems.
class OverrideReader {
 public:
  // What all limits of the file have in common.
  struct Common {
    Key key;             // what the ids are
    Charge charge;       // of limits that do not state it
    std::string policy;  // "user:*"
  };

  OverrideReader(Common common, Nodes* nodes, Problems* problems)
      : common_(std::move(common)), nodes_(nodes), problems_(problems) {}

  void read_csv(std::string_view text);
  void read_yaml(std::string_view text);

  // What was read: the value of an id is the index of its limits.
  IdTable& ids() { return ids_; }
  std::vector<LimitRange>& limits() { return limits_; }

 private:
  bool read_header(CsvReader* csv);
  void check_column(const CsvCell& cell, std::uint32_t line);
  void read_row(const CsvReader& csv);
  bool read_id(std::string_view id, Mark mark);
  std::uint32_t limits_of_row(const CsvReader& csv);
  void fill_row(const CsvReader& csv);
  std::uint32_t limits_of_entry(const YamlDocument& entry);
  std::uint32_t intern(const YamlDocument& document, std::size_t value);
  void add(Mark mark, std::uint32_t limits);

  const Common common_;
  Nodes* nodes_;
  Problems* problems_;
  IdTable ids_;
  std::vector<LimitRange> limits_;
  std::unordered_map<std::string, std::uint32_t> known_;  // by their text
  std::string text_;  // of the limits that are being read
  // The columns of a CSV; an empty name: the column is not part of a limit.
  std::vector<std::string> columns_;
  std::size_t id_column_ = 0;
  YamlDocument row_;
  std::string_view written_;  // the id that is being read ...
  CanonicalId id_;            // ... and what it is
};

constexpr std::uint32_t kBroken = IdTable::kNone;  // has been reported
// How many texts of limits are remembered.  More are unlikely to repeat.
constexpr std::size_t kMaxKnown = 65536;
constexpr std::size_t kMaxIds = 16'000'000;
constexpr std::string_view kNoLimits = "[]";

// The columns that are not keys of a limit.
constexpr std::array<std::string_view, 3> kOwnColumns = {"id", "limits",
                                                         "comment"};

std::vector<std::string_view> all_columns() {
  std::vector<std::string_view> all(kOwnColumns.begin(), kOwnColumns.end());
  all.insert(all.end(), kLimitKeys.begin(), kLimitKeys.end());
  return all;
}

// Appends the content of `value` in a form that differs for other content.
void append_text(const YamlDocument& document, std::size_t value,
                 std::string* text) {
  for (std::size_t i = value; i < document[value].end; ++i) {
    const YamlNode& node = document[i];
    *text += static_cast<char>('0' + static_cast<int>(node.kind));
    *text += node.plain ? 'p' : 'q';
    if (node.kind == YamlNode::Kind::kScalar) {
      *text += document.text(node);
      *text += '\n';  // no valid scalar contains it
    } else {
      *text += std::to_string(node.size);
    }
  }
}

// About as many ids as there are, unless lines are empty.
std::size_t lines_of(std::string_view text) {
  constexpr std::size_t kMost = 4'000'000;
  return std::min(kMost, static_cast<std::size_t>(
                             std::count(text.begin(), text.end(), '\n')));
}

bool has_blanks_around(std::string_view text) {
  return trim(text).size() != text.size();
}

void OverrideReader::read_csv(std::string_view text) {
  text = without_mark(text);
  if (!check_text(text, problems_)) return;
  CsvReader csv(text, problems_);
  if (!read_header(&csv)) return;
  ids_.reserve(lines_of(text));
  while (csv.next()) read_row(csv);
  ids_.finish();
}

bool OverrideReader::read_header(CsvReader* csv) {
  const std::size_t before = problems_->size();
  if (!csv->next()) {
    if (problems_->size() == before) {
      problems_->add(Mark(),
                     "nothing here: expected a line that names the columns, "
                     "such as id,count,period");
    }
    return false;
  }
  std::vector<std::string>& names = columns_;
  for (const CsvCell& cell : csv->cells()) {
    check_column(cell, csv->line());
    names.emplace_back(trim(cell.text));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + static_cast<long>(i),
                  names[i]) != names.begin() + static_cast<long>(i)) {
      problems_->add({csv->line(), csv->cells()[i].column},
                     "a second column " + quote(names[i]));
    }
  }
  const auto id = std::find(names.begin(), names.end(), "id");
  id_column_ = static_cast<std::size_t>(id - names.begin());
  if (id == names.end()) {
    problems_->add({csv->line(), 1}, "the column \"id\" is missing");
  } else if (std::ranges::all_of(names, [](const auto& name) {
               return name == "id" || name == "comment";
             })) {
    problems_->add({csv->line(), 1},
                   "no column says limits: limits, or count and period");
  }
  for (std::string& name : names) {
    if (name == "comment" || name == "id") name.clear();
  }
  return problems_->size() == before;
}

void OverrideReader::check_column(const CsvCell& cell, std::uint32_t line) {
  const std::string_view name = trim(cell.text);
  if (contains(kOwnColumns, name) || contains(kLimitKeys, name)) return;
  problems_->add({line, cell.column},
                 unknown_word("column", name, all_columns()));
}

void OverrideReader::read_row(const CsvReader& csv) {
  const std::vector<CsvCell>& cells = csv.cells();
  if (cells.size() != columns_.size()) {
    problems_->add({csv.line(), 1}, std::to_string(cells.size()) +
                                        " cells, the first line has " +
                                        std::to_string(columns_.size()));
    return;
  }
  const CsvCell& id = cells[id_column_];
  const Mark mark{csv.line(), id.column};
  if (!id.quoted && has_blanks_around(id.text)) {
    problems_->add(mark, "blanks around the id " + quote(id.text) +
                             ": put it in quotes if they are meant");
    return;
  }
  const bool good = read_id(id.text, mark);
  const std::uint32_t limits = limits_of_row(csv);
  if (good) add(mark, limits);
}

// Sets id_ to the canonical form of `id`; reports a problem and returns false
// if there is none.
bool OverrideReader::read_id(std::string_view id, Mark mark) {
  written_ = id;
  const PatternKind pattern = pattern_kind(id);
  const bool star =
      pattern == PatternKind::kAny || pattern == PatternKind::kGlob;
  std::string problem;
  if (id.empty()) {
    problem = "the id is empty";
  } else if (star && common_.key.kind != KeyKind::kFqdnSet) {
    problem = "patterns belong into children, is " + quote(id);
  } else if (pattern == PatternKind::kNetwork &&
             common_.key.kind == KeyKind::kIp) {
    problem = "networks belong into children, is " + quote(id);
  } else if (const char* const wrong = id_.set(common_.key, id)) {
    problem = quote(id) + " " + wrong + ", as \"key: " + key_text(common_.key) +
              "\" wants";
  }
  if (problem.empty()) return true;
  problems_->add(mark, std::move(problem));
  return false;
}

void OverrideReader::add(Mark mark, std::uint32_t limits) {
  // An id with broken limits still takes its place: a second one is another
  // mistake.
  const std::uint32_t value = limits == kBroken ? 0 : limits;
  if (ids_.size() == kMaxIds) {
    problems_->add(mark, "more than " + std::to_string(kMaxIds) + " ids");
    return;
  }
  if (ids_.insert(id_.view(), value)) return;
  std::string what = "duplicate id " + quote(written_);
  if (id_.view() != written_) what += ", which is " + quote(id_.view());
  problems_->add(mark, std::move(what));
}

// The limits in the cells of this row.
std::uint32_t OverrideReader::limits_of_row(const CsvReader& csv) {
  text_.clear();
  const std::vector<CsvCell>& cells = csv.cells();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (columns_[i].empty()) continue;
    text_ += trim(cells[i].text);
    text_ += '\n';  // no cell contains it
  }
  const auto known = known_.find(text_);
  if (known != known_.end()) return known->second;
  const std::size_t before = problems_->size();
  fill_row(csv);
  return problems_->size() == before ? intern(row_, 0) : kBroken;
}

// Sets row_ to what a limits.yaml would contain.
void OverrideReader::fill_row(const CsvReader& csv) {
  const std::vector<CsvCell>& cells = csv.cells();
  std::vector<YamlDocument::Pair> pairs;
  std::optional<YamlDocument::Pair> whole;  // of the column "limits"
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view text = trim(cells[i].text);
    if (columns_[i].empty() || text.empty()) continue;
    const YamlDocument::Pair pair{
        columns_[i], text, {csv.line(), cells[i].column}};
    if (pair.key == "limits") {
      whole = pair;
    } else {
      pairs.push_back(pair);
    }
  }
  const Mark mark{csv.line(), 1};
  if (!whole) {
    row_.set_mapping(pairs, mark);
  } else {
    if (!pairs.empty()) {
      problems_->add(pairs.front().mark, std::string(pairs.front().key) +
                                             " and limits exclude each other");
    }
    row_.set_scalar(whole->value, whole->mark);
  }
}

void OverrideReader::read_yaml(std::string_view text) {
  ids_.reserve(lines_of(text));
  read_yaml_entries(text, problems_, [this](const YamlDocument& entry) {
    const YamlNode& key = entry[1];
    if (!entry.is_name(key)) return;  // which has been reported
    const bool good = read_id(entry.text(key), key.mark);
    const std::uint32_t limits = limits_of_entry(entry);
    if (good) add(key.mark, limits);
  });
  ids_.finish();
}

std::uint32_t OverrideReader::limits_of_entry(const YamlDocument& entry) {
  const std::size_t value = entry[1].end;
  text_.clear();
  append_text(entry, value, &text_);
  const auto known = known_.find(text_);
  if (known != known_.end()) return known->second;
  return intern(entry, value);
}

// Reads the limits `value`, whose text is text_.
std::uint32_t OverrideReader::intern(const YamlDocument& document,
                                     std::size_t value) {
  const std::size_t before = problems_->size();
  const YamlNode& node = document[value];
  const bool none = node.kind == YamlNode::Kind::kScalar && !node.plain &&
                    &document == &row_ && document.text(node) == kNoLimits;
  std::vector<Limit> limits;
  if (!none) {
    limits = LimitReader(document, common_.charge, problems_).read(value);
  }
  if (problems_->size() != before) return kBroken;
  limits_.push_back(nodes_->add_limits(std::move(limits), common_.policy));
  const auto index = static_cast<std::uint32_t>(limits_.size() - 1);
  if (known_.size() < kMaxKnown) known_.emplace(text_, index);
  return index;
}

}  // namespace

bool is_overrides_name(std::string_view name) {
  return is_printable(name) &&  // messages begin with the name
         (name.ends_with(".csv") || name.ends_with(".yaml") ||
          name.ends_with(".yml"));
}

LoadedOverrides load_overrides(std::string_view origin, const ReadFile& read,
                               const Draft& draft, Key key, Nodes* nodes,
                               Problems* problems) {
  const std::string name = beside(origin, draft.overrides);
  LoadedOverrides loaded{
      &draft, key, static_cast<std::uint32_t>(nodes->overrides.size()), {}};
  Overrides& overrides = nodes->overrides.emplace_back();
  overrides.file = draft.overrides;
  const std::optional<std::string> text = problems->take(
      read(name, kMaxOverridesSize), draft.overrides_mark, name + ": ");
  if (!text) return loaded;

  OverrideReader reader(
      {key, draft.charge, nodes->path(any_child(draft)->place)}, nodes,
      problems);
  problems->enter_file(name);
  if (name.ends_with(".csv")) {
    reader.read_csv(*text);
  } else {
    reader.read_yaml(*text);
  }
  problems->enter_file("");
  overrides.ids = std::move(reader.ids());
  loaded.limits = std::move(reader.limits());
  return loaded;
}

}  // namespace limitree
