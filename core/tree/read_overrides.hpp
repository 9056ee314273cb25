// `overrides: users.csv`: the limits that many ids have of their own.

#ifndef LIMITREE_TREE_READ_OVERRIDES_HPP
#define LIMITREE_TREE_READ_OVERRIDES_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/limit.hpp"
#include "text/csv.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"
#include "tree/id_table.hpp"
#include "tree/key_kind.hpp"
#include "tree/nodes.hpp"

namespace limitree {

inline constexpr std::size_t kMaxOverridesSize = std::size_t{512} << 20;

// Reads one such file, in CSV or YAML.  Limits go to *nodes, each once however
// many ids have it; what is wrong goes to *problems.
class OverrideReader {
 public:
  // What all limits of the file have in common.
  struct Common {
    Key key;             // what the ids are
    Charge charge;       // of limits that do not say it
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
  // What the columns of a CSV are.
  struct Columns {
    std::size_t id;
    std::vector<std::string_view> names;  // empty: nobody reads it
  };

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
  Columns columns_{};
  std::string header_;  // what columns_ shows
  YamlDocument row_;
  std::string_view written_;  // the id that is being read ...
  CanonicalId id_;            // ... and what it is
};

}  // namespace limitree

#endif  // LIMITREE_TREE_READ_OVERRIDES_HPP
