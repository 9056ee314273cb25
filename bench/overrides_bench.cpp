// Files of overrides: how long a million ids take to load, how much memory they
// need, and how long a decision takes beside them.  Also the time to put one
// name beside many others.  docs/performance.md has the figures.
//
// usage: overrides_bench [ids]

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree::bench {
namespace {

constexpr int kCalls = 1'000'000;
constexpr int kRounds = 5;

using Ids = std::vector<std::string>;

// Memory of this process by its name in /proc/self/status, in MB.
double megabytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) {
      return std::strtod(line.c_str() + name.size() + 1, nullptr) / 1024;
    }
  }
  return 0;
}

// Processor time, so that other processes disturb it less.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string limits_of(const std::string& file) {
  return "schema: {account: {overrides: " + file +
         ", children: {\"*\": {limits: {count: 300, period: 3h}}}}}";
}

Ids ids_of(int count) {
  Ids ids;
  for (int i = 0; i < count; ++i)
    ids.push_back(std::to_string(10'000'000 + 7 * i));
  return ids;
}

// Twenty different limits, like the plans of a product; or all different.
std::string csv_of(const Ids& ids, int kinds) {
  std::string text = "id,count,period,burst\n";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string count = std::to_string(300 + static_cast<int>(i) % kinds);
    text += ids[i] + ',' + count + ",3h," + count + '\n';
  }
  return text;
}

std::string yaml_of(const Ids& ids) {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string count = std::to_string(300 + i % 20);
    text +=
        ids[i] + ": {count: " + count + ", period: 3h, burst: " + count + "}\n";
  }
  return text;
}

std::shared_ptr<const Tree> load(const std::string& file,
                                 const std::string& text) {
  const ReadFile read = [&text](const std::string&, std::size_t) {
    return Result<std::string>(text);
  };
  Result<Tree> tree = load_tree(limits_of(file), "limits.yaml", read);
  if (!tree.ok()) {
    std::printf("%s\n", tree.status().error().messages[0].c_str());
    std::exit(1);
  }
  return std::make_shared<const Tree>(std::move(tree.value()));
}

// The text is freed when it has been read, as a file would be closed.
void report_load(const char* what, const std::string& file,
                 const std::string& text, int ids) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins here
  const double before = megabytes("VmRSS:");
  const double start = seconds();
  const auto tree = load(file, text);
  const double took = seconds() - start;
  const double peak = megabytes("VmHWM:") - before;
  malloc_trim(0);
  std::printf("| %d | %s | %.0f | %.2f | %.0f | %.0f |\n", ids, what,
              static_cast<double>(text.size()) / 1e6, took, peak,
              megabytes("VmRSS:") - before);
}

// Nanoseconds per decision, for ids in the order of `order`.
double decide(Limiter* limiter, const Ids& ids,
              const std::vector<std::uint32_t>& order) {
  const double start = seconds();
  for (const std::uint32_t i : order) {
    const std::string_view path[] = {"account", ids[i]};
    const PathCost path_cost{path, 1};
    Decision decision;
    if (!limiter
             ->decide(Operation::kAuthorize, {{&path_cost, 1}}, nullptr,
                      &decision)
             .ok()) {
      std::exit(1);
    }
  }
  return (seconds() - start) * 1e9 / static_cast<double>(order.size());
}

struct Pair {
  double one;
  double many;
};

// With one id in the file and with all of them, alternating: medians.
Pair compare(Limiter* one, Limiter* many, const Ids& ids,
             std::uint32_t callers) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> order(kCalls);
  for (std::uint32_t& i : order) {
    i = static_cast<std::uint32_t>(random() % callers * (ids.size() / callers));
  }
  std::vector<double> ones;
  std::vector<double> manys;
  for (int round = 0; round < kRounds; ++round) {
    ones.push_back(decide(one, ids, order));
    manys.push_back(decide(many, ids, order));
  }
  std::ranges::sort(ones);
  std::ranges::sort(manys);
  return {ones[kRounds / 2], manys[kRounds / 2]};
}

std::unique_ptr<Limiter> limiter_of(std::shared_ptr<const Tree> tree) {
  Options options;
  return std::make_unique<Limiter>(std::move(tree), options,
                                   std::move(make_store(options).value()));
}

void run(int count) {
  const Ids ids = ids_of(count);
  std::printf(
      "| ids | file | MB | seconds | MB at most | MB kept |\n"
      "|---|---|---|---|---|---|\n");
  const std::string csv = csv_of(ids, 20);
  report_load(".csv, 20 limits", "f.csv", csv, count);
  report_load(".yaml, 20 limits", "f.yaml", yaml_of(ids), count);
  report_load(".csv, all differ", "f.csv", csv_of(ids, count), count);

  const auto one = limiter_of(load("f.csv", csv_of({ids.front()}, 20)));
  const auto many = limiter_of(load("f.csv", csv));
  std::printf(
      "\n| callers, at random | 1 id in the file | %d ids |\n|---|---|---|\n",
      count);
  for (const std::uint32_t callers : {1U, 1000U, 100'000U, 1'000'000U}) {
    if (callers > ids.size()) continue;
    const Pair ns = compare(one.get(), many.get(), ids, callers);
    std::printf("| %u | %.0f | %.0f |\n", callers, ns.one, ns.many);
  }
}

// Adds one top-level name to a limiter that has `count` named users: by reading
// all of them again, and by itself.
void run_put(int count) {
  std::string yaml = "schema:\n  user:\n    children:\n";
  for (const std::string& id : ids_of(count)) {
    yaml += "      u" + id + ": {limits: [15, 30, 60]}\n";
  }
  const std::string more = yaml + "  job: {limits: 5/minute}\n";
  const auto limiter = limiter_of(std::make_shared<const Tree>(
      std::move(load_tree(yaml, "limits.yaml").value())));
  std::vector<double> reloads;
  std::vector<double> puts;
  for (int round = 0; round < kRounds; ++round) {
    double start = seconds();
    const Tree tree = std::move(load_tree(more, "limits.yaml").value());
    if (!limiter->reload(tree).ok()) std::exit(1);
    reloads.push_back(seconds() - start);

    constexpr int kPuts = 100;
    start = seconds();
    for (int i = 0; i < kPuts; ++i) {
      auto root = load_root("job", {"limits: 5/minute", "put"});
      if (!limiter->put(std::move(root.value()), Replace::kAny).ok()) {
        std::exit(1);
      }
    }
    puts.push_back((seconds() - start) / kPuts);
  }
  std::ranges::sort(reloads);
  std::ranges::sort(puts);
  std::printf(
      "\n| named users | reload, ms | put, ms |\n|---|---|---|\n"
      "| %d | %.0f | %.2f |\n",
      count, reloads[kRounds / 2] * 1e3, puts[kRounds / 2] * 1e3);
}

}  // namespace
}  // namespace limitree::bench

int main(int argc, char** argv) {
  const int ids = argc > 1 ? std::atoi(argv[1]) : 1'000'000;
  if (ids <= 0) return 0;  // only other benchmarks were requested
  limitree::bench::run(ids);
  limitree::bench::run_put(100'000);
}
