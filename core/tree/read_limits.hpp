// What stands after `limits:` in limits.yaml: nodes in, limits out.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/limit.hpp"
#include "text/limit_rules.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"
#include "tree/limit_text.hpp"

namespace limitree {

// The keys of a node and of a limit in map form.
inline constexpr std::array<std::string_view, 9> kNodeKeys = {
    "limits",  "children", "overrides", "key", "ipv6_prefix",
    "inherit", "share",    "charge",    "mode"};
inline constexpr std::array<std::string_view, 21> kLimitKeys = {
    "name",       "count", "period", "burst",   "max_burst", "algorithm",
    "mode",       "cost",  "charge", "overrun", "align",     "timezone",
    "buckets",    "round", "drain",  "unit",    "hold",      "unsettled",
    "concurrent", "block", "lease"};

// Reads `charge: independent | all_or_nothing`, of a whole tree, or of a limit,
// which also has `denials`.
std::optional<Charge> read_charge(const YamlDocument& document,
                                  const YamlNode& node, bool of_limit,
                                  Problems* problems);

// Reads `mode: enforce | shadow`, of a whole tree: whether it is in shadow.
bool read_shadow(const YamlDocument& document, const YamlNode& node,
                 Problems* problems);

// Reads the limits that one node states.
class LimitReader {
 public:
  LimitReader(const YamlDocument& document, Charge charge, Problems* problems)
      : document_(document), charge_(charge), problems_(problems) {}

  // The limits of node `value`, in list, map or text form or a list of those.
  // Those with mistakes are left out, and reported.  Where there are several
  // each has a name; policy, suffix and index are not set.
  std::vector<Limit> read(std::size_t value);

 private:
  // What has been read of one limit.
  struct Fields {
    std::optional<std::int64_t> count;  // or of `concurrent`
    std::optional<std::int64_t> capacity;
    std::optional<Duration> period;
    std::int64_t cost = 1;
    Mode mode = Mode::kEnforce;
    std::optional<Charge> charge;
    std::string_view burst_key;  // "burst" or "max_burst", once met
    std::string_view name;
    std::string_view unit;
    RuleFields rules;
    bool blocks = false;    // `block: true`
    bool has_rate = false;  // or anything else but a name
    bool broken = false;    // a problem has been reported
  };

  bool is_list_form(std::size_t list) const;
  void read_one(std::size_t value);
  void read_list_form(std::size_t list, Fields* fields);
  void read_text_form(const YamlNode& text);
  bool is_known(const Value& key);
  void read_field(const Value& key, std::size_t value, Fields* fields);
  void read_number(const Value& key, const Value& value, Fields* fields);
  void read_word(std::string_view key, const Value& value, Fields* fields);
  std::optional<Value>* rule_field(std::string_view key, Fields* fields);
  void read_unit(const Value& value, Fields* fields);
  void read_burst(const Value& key, const Value& value, Fields* fields);
  // Problems::take(), whose problem breaks the limit.
  template <typename T>
  std::optional<T> take(Result<T> result, Mark mark, std::string_view what,
                        Fields* fields);
  void finish(const Fields& fields, Mark mark);
  void finish_concurrent(const Fields& fields, Mark mark);
  void finish_block(const Fields& fields, Mark mark);
  void check_denials(const Fields& fields, Mark mark);
  void add(const Fields& fields, const Rate& rate, Duration period, Mark mark);
  void name_all();

  const YamlDocument& document_;
  Charge charge_;
  Problems* problems_;
  std::vector<Limit> limits_;  // read so far ...
  std::vector<Mark> marks_;    // ... and where each begins
};

}  // namespace limitree
