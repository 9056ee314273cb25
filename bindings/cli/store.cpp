// `limitree ping`, `show` and `reset`: does the store answer, and what is in
// the buckets of one caller?

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.hpp"
#include "entries.hpp"
#include "format.hpp"
#include "limits_file.hpp"
#include "remote.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

std::string about_file(const Limiter& limiter) {
  const limitree_store_file file = limiter.store_file();
  const Counters store = totals(limiter.get(), LIMITREE_SCOPE_STORE);
  const std::string path(file.path.data, file.path.size);
  return "file:      " + printable(path, false) + ", format " +
         std::to_string(file.version) + "\n" +  //
         "bytes:     " + count_text(store["store_bytes"]) + " in memory of " +
         count_text(file.bytes) + "\n" +  //
         "buckets:   " + count_text(store["buckets"]) + " of " +
         count_text(store["max_buckets"]) + "\n" +  //
         "processes: " + count_text(file.processes - 1) + "\n";
}

Limiter limiter_for(const CallerOptions& options) {
  const std::string url = url_of(options.remote);
  Config config;
  set_store(options.remote, existing(url), &config);
  // A decision made in place of the store says nothing about its buckets.
  config.set("on_store_error", "raise");
  if (options.source.is_envoy()) {
    read_descriptors(options.source, &config);
  } else {
    read_limits(options.source, &config);
  }
  return limiter_of(config);
}

// ---- Of descriptors of Envoy ------------------------------------------------

// A request of Envoy with a domain and the entries of its descriptors.
class DescriptorsAsked {
 public:
  explicit DescriptorsAsked(const std::vector<std::string>& path)
      : domain_(path.front()) {
    for (std::size_t i = 1; i < path.size(); ++i) texts_.emplace_back(path[i]);
    // The texts no longer move, nor does what a vector of entries points to.
    for (const EntryTexts& text : texts_) {
      const auto& entries = entries_.emplace_back(text.entries());
      limitree_descriptor& one = descriptors_.emplace_back();
      one.entries = entries.data();
      one.entry_count = entries.size();
    }
    request_.domain = to_str(domain_);
    request_.descriptors = descriptors_.data();
    request_.descriptor_count = descriptors_.size();
  }
  DescriptorsAsked(const DescriptorsAsked&) = delete;
  DescriptorsAsked& operator=(const DescriptorsAsked&) = delete;

  const limitree_envoy_request& get() const { return request_; }

  // What the same request with `hits` would get.
  std::vector<limitree_descriptor_status> look(const Limiter& limiter,
                                               std::uint64_t hits) {
    for (limitree_descriptor& one : descriptors_) {
      one.flags = LIMITREE_HAS_HITS_ADDEND;
      one.hits_addend = hits;
    }
    // These limits may differ from those of the service.
    request_.flags = LIMITREE_ONLY_LOOKS;
    std::vector<limitree_descriptor_status> statuses(descriptors_.size());
    limiter.should_rate_limit(request_, statuses);
    return statuses;
  }

 private:
  const std::string domain_;
  std::vector<EntryTexts> texts_;
  std::vector<std::vector<limitree_entry>> entries_;
  std::vector<limitree_descriptor> descriptors_;
  limitree_envoy_request request_{};
};

// "60 per MINUTE", "60 per 10 MINUTE", "5 per 90s", "10 at once"
std::string limit_title(const limitree_descriptor_status& status) {
  std::string title = std::to_string(status.requests_per_unit);
  if (status.period_ns == 0) {
    title += " at once";
  } else if (status.unit == LIMITREE_UNIT_UNKNOWN) {
    title += " per " + duration_text(status.period_ns);
  } else {
    title += " per ";
    if (status.unit_multiplier != 1) {
      title += std::to_string(status.unit_multiplier) + ' ';
    }
    title += limitree_unit_name(status.unit);
  }
  return title;
}

void add_row(const std::string& descriptor,
             const limitree_descriptor_status& now,
             const limitree_descriptor_status& next, Table* table) {
  if (now.match != LIMITREE_MATCH_LIMIT) {
    table->add_row({{descriptor},
                    {now.match == LIMITREE_MATCH_UNLIMITED  ? "unlimited"
                     : now.match == LIMITREE_MATCH_REPLACED ? "replaced"
                                                            : "no limit"}});
    return;
  }
  const bool is_empty = next.retry_after_ns != -1;
  const Colour colour = is_empty ? Colour::kRed : Colour::kNone;
  // A window has an end even if nothing is counted in it.
  const bool is_full = now.limit_remaining >= now.requests_per_unit;
  table->add_row({{descriptor},
                  {limit_title(now)},
                  {std::to_string(now.limit_remaining), colour},
                  {wait_text(next.retry_after_ns), colour},
                  {is_full ? "-" : duration_text(now.reset_after_ns)}});
}

// What is left in the buckets that a request with these descriptors reaches:
// `path` is its domain, and the entries of each.  Changes nothing.
std::string descriptors_left(const Limiter& limiter,
                             const std::vector<std::string>& path,
                             const Terminal& terminal) {
  DescriptorsAsked asked(path);
  const std::vector<limitree_descriptor_status> now = asked.look(limiter, 0);
  const std::vector<limitree_descriptor_status> next = asked.look(limiter, 1);
  Table table;
  table.add_columns(Align::kLeft, {"descriptor", "limit"});
  table.add_columns(Align::kRight, {"left", "one more in", "full again in"});
  for (std::size_t i = 0; i < now.size(); ++i) {
    add_row(printable(path[i + 1], terminal.utf8), now[i], next[i], &table);
  }
  return table.text(terminal);
}

// ---- Of a path --------------------------------------------------------------

// Changes nothing, because these limits may differ from those of the service.
std::vector<limitree_level> look(Limiter* limiter,
                                 const std::vector<limitree_str>& path,
                                 std::int64_t cost,
                                 const std::vector<limitree_cost>& costs) {
  const limitree_path one = {path.data(), path.size(), cost,
                             LIMITREE_PART_CHARGE};
  std::vector<limitree_level> levels(kMaxLevels);
  const Decision decision =
      limiter->decide(LIMITREE_LOOK, {&one, 1}, levels, costs);
  levels.resize(
      std::min(kMaxLevels, static_cast<std::size_t>(decision.level_count)));
  return levels;
}

// A cost of 1 in each unit that the levels count, but kRequestUnit.
std::vector<limitree_cost> one_of_each(
    const std::vector<limitree_level>& levels) {
  std::set<std::string_view> units;
  for (const limitree_level& level : levels) units.insert(to_view(level.unit));
  units.erase(kRequestUnit);
  std::vector<limitree_cost> costs;
  for (const std::string_view unit : units) costs.push_back({to_str(unit), 1});
  return costs;
}

// The tokens left in each bucket, for a cost of 0, and the time until one
// more token fits, for a cost of 1.
std::string state(Limiter* limiter, const std::vector<limitree_str>& path,
                  const Terminal& terminal) {
  const std::vector<limitree_level> now = look(limiter, path, 0, {});
  const std::vector<limitree_level> next =
      look(limiter, path, 1, one_of_each(now));
  if (now.empty()) return "there is no limit on this path\n";
  Table table;
  table.add_columns(Align::kLeft, {"limit"});
  table.add_columns(Align::kRight, {"left", "one more in", "full again in"});
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool empty = next[i].limited != 0;
    const Colour colour = empty ? Colour::kRed : Colour::kNone;
    const std::int64_t reset_ns = now[i].reset_after_ns;
    table.add_row({{policy_title(now[i], terminal.utf8)},
                   {left_text(now[i]), colour},
                   {wait_text(next[i].retry_after_ns), colour},
                   {reset_ns == 0 ? "-" : duration_text(reset_ns)}});
  }
  const Text held = limiter->list_holds(path);
  return table.text(terminal) +
         (held.view().empty() ? "" : "held\n" + std::string(held.view()));
}

}  // namespace

int run(const PingOptions& options) {
  const std::string url = url_of(options.remote);
  Config config;
  set_store(options.remote, existing(url), &config);
  Limiter limiter = limiter_of(config);
  const std::int64_t first_ns = limiter.ping_ns();  // connects first
  const std::int64_t second_ns = limiter.ping_ns();
  print(printable(shown_url(url), false) + " answered in " +
        duration_text(second_ns) + "; connecting included, in " +
        duration_text(first_ns) + '\n');
  if (is_file(url)) print(about_file(limiter));
  return kExitOk;
}

int run(const ShowOptions& options) {
  const Terminal terminal = Terminal::of(STDOUT_FILENO);
  Limiter limiter = limiter_for(options);
  print(options.source.is_envoy()
            ? descriptors_left(limiter, options.path, terminal)
            : state(&limiter, to_path(options.path), terminal));
  return kExitOk;
}

int run(const ResetOptions& options) {
  const Terminal terminal = Terminal::of(STDOUT_FILENO);
  Limiter limiter = limiter_for(options);
  if (options.source.is_envoy()) {
    limiter.reset_descriptors(DescriptorsAsked(options.path).get());
    print(descriptors_left(limiter, options.path, terminal));
    return kExitOk;
  }
  const std::vector<limitree_str> path = to_path(options.path);
  if (options.leaf) {
    limiter.reset_leaf(path);
  } else {
    limiter.reset(path);
  }
  print(state(&limiter, path, terminal));
  return kExitOk;
}

}  // namespace limitree::cli
