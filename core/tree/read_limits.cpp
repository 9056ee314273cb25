#include "tree/read_limits.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/plan.hpp"
#include "text/number.hpp"
#include "text/rule_maps.hpp"
#include "text/text_table.hpp"

namespace limitree {

namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 6> kNumbers = {
    "count", "burst", "max_burst", "cost", "buckets", "concurrent"};
constexpr Words kModes = Words(kModeNames).first(3);
// In the order of the enumerators, but for the last one, which only a limit
// can have.
constexpr std::array<std::string_view, 3> kCharges = {"all_or_nothing",
                                                      "independent", "denials"};

// Whether [`text`, ...] is meant as numbers rather than as a list of texts.
bool looks_like_number(std::string_view text) {
  return !text.empty() && text.find_first_of("0123456789+-.") == 0 &&
         text.find_first_of("/ ") == std::string_view::npos;
}

}  // namespace

std::optional<Charge> read_charge(const YamlDocument& document,
                                  const YamlNode& node, bool of_limit,
                                  Problems* problems) {
  const std::optional<Value> value =
      read_scalar(document, node, "charge must be a word", problems);
  if (!value) return std::nullopt;
  const Words words = Words(kCharges).first(of_limit ? 3 : 2);
  const auto charge = find_word("charge", *value, words, problems);
  if (!charge) return std::nullopt;
  return *charge == 2 ? Charge::kDenials : static_cast<Charge>(*charge);
}

bool read_shadow(const YamlDocument& document, const YamlNode& node,
                 Problems* problems) {
  const std::optional<Value> value =
      read_scalar(document, node, "mode must be a word", problems);
  if (!value) return false;
  return find_word("mode", *value, kModes.first(2), problems) == 1u;
}

std::vector<Limit> LimitReader::read(std::size_t value) {
  const YamlNode& node = document_[value];
  if (node.kind == Kind::kRefused) return {};
  if (document_.is_null(node)) {
    problems_->add(node.mark, "limits is empty: [] states that there are none");
  } else if (node.kind == Kind::kSequence && node.size > kMaxLevels) {
    problems_->add(node.mark, std::to_string(node.size) +
                                  " limits, the most on a path is " +
                                  std::to_string(kMaxLevels));
  } else if (node.kind == Kind::kSequence && !is_list_form(value)) {
    for (std::size_t i = value + 1; i < node.end; i = document_[i].end) {
      read_one(i);
    }
    if (node.size > 1) name_all();
  } else {
    read_one(value);
    if (limits_.size() > 1) name_all();
  }
  return std::move(limits_);
}

bool LimitReader::is_list_form(std::size_t list) const {
  if (document_[list].size == 0) return false;
  const YamlNode& first = document_[list + 1];
  return first.kind == Kind::kScalar &&
         looks_like_number(document_.text(first));
}

void LimitReader::read_one(std::size_t value) {
  const YamlNode& node = document_[value];
  if (document_.is_null(node)) {
    problems_->add(node.mark, "a limit is empty");
    return;
  }
  Fields fields;
  switch (node.kind) {
    case Kind::kSequence:
      read_list_form(value, &fields);
      break;
    case Kind::kMapping:
      for (const auto& [key, at] : document_.fields(value)) {
        read_field(key, at, &fields);
        if (key.text != "block" && key.text != "name") fields.has_rate = true;
      }
      break;
    case Kind::kScalar:
      read_text_form(node);
      return;
    case Kind::kRefused:
      return;
  }
  finish(fields, node.mark);
}

void LimitReader::read_list_form(std::size_t list, Fields* fields) {
  const YamlNode& node = document_[list];
  if (node.size != 3) {
    problems_->add(node.mark,
                   "a limit in list form is [max_burst, count, "
                   "period], has " +
                       std::to_string(node.size) +
                       (node.size == 1 ? " value" : " values"));
    fields->broken = true;
    return;
  }
  constexpr std::array<std::string_view, 3> kKeys = {"max_burst", "count",
                                                     "period"};
  std::size_t item = list + 1;
  for (const std::string_view key : kKeys) {
    read_field({key, document_[item].mark}, item, fields);
    item = document_[item].end;
  }
}

bool LimitReader::is_known(const Value& key) {
  if (contains(kLimitKeys, key.text)) return true;
  if (contains(kNodeKeys, key.text)) {
    problems_->add(
        key.mark, std::string(key.text) + " belongs to a node, not to a limit");
  } else {
    problems_->add(key.mark,
                   unknown_word("key of a limit", key.text, kLimitKeys));
  }
  return false;
}

void LimitReader::read_field(const Value& key, std::size_t at, Fields* fields) {
  const YamlNode& node = document_[at];
  if (!is_known(key)) {
    fields->broken = true;
    return;
  }
  if (key.text == "charge") {
    fields->charge = read_charge(document_, node, true, problems_);
    return;
  }
  if (key.text == "overrun") {
    fields->broken |=
        !read_overrun(document_, at, key.mark, &fields->rules, problems_);
    return;
  }
  if (key.text == "lease") {
    fields->broken |= !read_lease(document_, at, &fields->rules, problems_);
    return;
  }
  const bool number = contains(kNumbers, key.text);
  const std::string must =
      std::string(key.text) + " must be " +
      (number                                       ? "a whole number"
       : key.text == "period" || key.text == "hold" ? "a duration"
       : key.text == "block"                        ? "true"
                                                    : "a word");
  const std::optional<Value> value =
      read_scalar(document_, node, must, problems_);
  if (!value) {
    fields->broken = true;
  } else if (std::optional<Value>* rule = rule_field(key.text, fields)) {
    *rule = value;
  } else if (number) {
    read_number(key, *value, fields);
  } else if (key.text == "period") {
    fields->period =
        take(parse_period(value->text), value->mark, "period ", fields);
    fields->rules.is_month = is_one_month(value->text);
  } else {
    read_word(key.text, *value, fields);
  }
}

// The field for a key whose meaning depends on other keys.
std::optional<Value>* LimitReader::rule_field(std::string_view key,
                                              Fields* fields) {
  RuleFields& rules = fields->rules;
  if (key == "algorithm") return &rules.algorithm;
  if (key == "align") return &rules.align;
  if (key == "timezone") return &rules.timezone;
  if (key == "buckets") return &rules.buckets;
  if (key == "round") return &rules.round;
  if (key == "drain") return &rules.drain;
  if (key == "hold") return &rules.hold;
  if (key == "unsettled") return &rules.unsettled;
  return nullptr;
}

void LimitReader::read_number(const Value& key, const Value& value,
                              Fields* fields) {
  if (key.text == "count") {
    fields->count =
        take(parse_integer(value.text, 1), value.mark, "count ", fields);
  } else if (key.text == "concurrent") {
    fields->rules.concurrent = value;
  } else if (key.text == "cost") {
    fields->cost =
        take(parse_integer(value.text, 0), value.mark, "cost ", fields)
            .value_or(1);
  } else {
    read_burst(key, value, fields);
  }
}

void LimitReader::read_word(std::string_view key, const Value& value,
                            Fields* fields) {
  if (key == "mode") {
    const auto mode = find_word(key, value, kModes, problems_);
    fields->mode = static_cast<Mode>(mode.value_or(0));
    fields->broken |= !mode;
    return;
  }
  if (key == "unit") return read_unit(value, fields);
  if (key == "block") {
    fields->blocks = value.text == "true";
    if (fields->blocks) return;
    problems_->add(value.mark, "block must be true, is " + quote(value.text));
    fields->broken = true;
    return;
  }
  fields->name = value.text;
  if (!value.text.empty()) return;
  problems_->add(value.mark, "name must not be empty");
  fields->broken = true;
}

void LimitReader::read_unit(const Value& value, Fields* fields) {
  if (is_unit_name(value.text)) {
    if (value.text != kRequestUnit) fields->unit = value.text;
    return;
  }
  problems_->add(value.mark,
                 "unit must be a name of small letters, digits and \"_\" that "
                 "begins with a letter, is " +
                     quote(value.text));
  fields->broken = true;
}

void LimitReader::read_burst(const Value& key, const Value& value,
                             Fields* fields) {
  if (!fields->burst_key.empty() && fields->burst_key != key.text) {
    problems_->add(key.mark, "burst and max_burst exclude each other");
    fields->broken = true;
  }
  fields->burst_key = key.text;
  fields->rules.burst = key.mark;
  fields->capacity =
      take(parse_capacity(key.text, value.text), value.mark, "", fields);
}

void LimitReader::read_text_form(const YamlNode& text) {
  Result<std::vector<TextRate>> rates = parse_rates(document_.text(text));
  if (!rates.ok()) {
    for (const std::string& message : rates.status().error().messages) {
      problems_->add(text.mark, message);
    }
    return;
  }
  for (const TextRate& rate : rates.value()) {
    Fields fields;
    fields.count = rate.count;
    fields.period = rate.period;
    fields.capacity = rate.capacity;
    fields.rules = rules_of(rate, text.mark);
    finish(fields, text.mark);
  }
}

template <typename T>
std::optional<T> LimitReader::take(Result<T> result, Mark mark,
                                   std::string_view what, Fields* fields) {
  fields->broken |= !result.ok();
  return problems_->take(std::move(result), mark, what);
}

// Makes a limit of the fields, unless they contradict each other.
void LimitReader::finish(const Fields& fields, Mark mark) {
  if (fields.broken) return;
  if (fields.blocks) return finish_block(fields, mark);
  if (fields.rules.concurrent) return finish_concurrent(fields, mark);
  if (!fields.count) problems_->add(mark, "count is missing");
  if (!fields.period) problems_->add(mark, "period is missing");
  if (!fields.count || !fields.period) return;

  const std::int64_t capacity = fields.capacity.value_or(*fields.count);
  // As stated; for calendar months, the length of the longest one.
  const std::optional<Value>& align = fields.rules.align;
  const bool month =
      fields.rules.is_month && align && align->text == "calendar";
  const Duration period = month ? std::chrono::days(31) : *fields.period;
  const std::optional<Rate> rate =
      problems_->take(make_rate(*fields.count, period, capacity), mark);
  if (!rate) return;
  add(fields, *rate, period, mark);
}

void LimitReader::finish_block(const Fields& fields, Mark mark) {
  if (std::ranges::any_of(limits_, &Limit::is_block)) {
    problems_->add(mark, "a second block in one node");
    return;
  }
  if (fields.has_rate) {
    problems_->add(mark, "block: true takes no other key but name");
    return;
  }
  Limit limit;
  make_block(&limit);
  limit.name = fields.name.empty() ? std::string_view("blocked") : fields.name;
  limits_.push_back(std::move(limit));
  marks_.push_back(mark);
}

// Nothing else would ever charge a limit of denials in mode check, a denied
// request holds nothing, and has no cost in units.
void LimitReader::check_denials(const Fields& fields, Mark mark) {
  if (fields.charge != Charge::kDenials) return;
  const std::string_view other = fields.mode == Mode::kCheck ? "mode: check"
                                 : fields.rules.concurrent   ? "concurrent"
                                 : fields.rules.hold         ? "hold"
                                 : !fields.unit.empty()      ? "unit"
                                                             : "";
  if (other.empty()) return;
  problems_->add(mark, "charge: denials and " + std::string(other) +
                           " exclude each other");
}

// apply_rules() sets the rate.
void LimitReader::finish_concurrent(const Fields& fields, Mark mark) {
  const Value& most = *fields.rules.concurrent;
  if (fields.count || fields.period) {
    problems_->add(most.mark,
                   "concurrent and count exclude each other: state two limits");
    return;
  }
  add(fields, {Duration(1), 1}, Duration(1), mark);
}

void LimitReader::add(const Fields& fields, const Rate& rate, Duration period,
                      Mark mark) {
  check_denials(fields, mark);
  Limit limit;
  limit.rate = rate;
  limit.period = period;
  limit.count = fields.count.value_or(rate.capacity);
  limit.cost = fields.cost;
  limit.mode = fields.mode;
  limit.charge = fields.charge.value_or(charge_);
  limit.name = fields.name;
  limit.unit = fields.unit;
  apply_rules(fields.rules, mark, &limit, problems_);
  limits_.push_back(std::move(limit));
  marks_.push_back(mark);
}

void LimitReader::name_all() {
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    Limit& limit = limits_[i];
    if (limit.name.empty() && limit.algorithm == Algorithm::kConcurrent) {
      limit.name = "concurrent";
    } else if (limit.name.empty()) {
      limit.name = std::to_string(limit.count) + "/" + period_in_words(limit);
    }
    if (!names.insert(limit.name.view()).second) {
      problems_->add(marks_[i], "a second limit called " +
                                    quote(limit.name.view()) +
                                    " in one node: give each a name");
    }
  }
}

}  // namespace limitree
