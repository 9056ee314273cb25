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

#include "caller.hpp"
#include "command.hpp"
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
  table.add_column("limit", Align::kLeft);
  table.add_column("left", Align::kRight);
  table.add_column("one more in", Align::kRight);
  table.add_column("full again in", Align::kRight);
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
    reset_descriptors(limiter, options.path);
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
