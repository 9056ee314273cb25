#include "web/live_data.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "json/writer.hpp"

namespace limitree::server {

namespace {

// Leaves out lists of zeros: most limits deny nobody.
void append_rates(const RateHistory::Ring& ring, std::size_t size,
                  JsonWriter* to) {
  constexpr std::pair<std::string_view, std::int64_t LimitCounts::*> kLists[] =
      {{"allowed", &LimitCounts::allowed},
       {"limited", &LimitCounts::limited},
       {"shadow", &LimitCounts::shadowed}};
  for (const auto& list : kLists) {
    const auto first = ring.end() - static_cast<std::ptrdiff_t>(size);
    const auto count = list.second;
    if (std::all_of(first, ring.end(), [count](const LimitCounts& one) {
          return one.*count == 0;
        })) {
      continue;
    }
    to->key(list.first);
    to->begin_list();
    for (auto one = first; one != ring.end(); ++one) to->number((*one).*count);
    to->end_list();
  }
}

void append_limit(std::string_view name, const RateHistory::Ring& ring,
                  std::size_t size, JsonWriter* to) {
  to->begin_object();
  to->text("name", name);
  append_rates(ring, size, to);
  to->end_object();
}

void append_all_rates(const RateHistory& rates, JsonWriter* to) {
  to->number("interval_ms", RateHistory::kInterval / kMillisecond);
  to->whole("intervals", rates.size());
  to->flag("per_limit", rates.reads_limits());
  to->key("all");
  to->begin_object();
  append_rates(rates.all(), rates.size(), to);
  to->end_object();
  to->key("others");
  to->begin_object();
  append_rates(rates.others(), rates.size(), to);
  to->end_object();
  to->key("limits");
  to->begin_list();
  rates.each([&](std::string_view name, const RateHistory::Ring& ring) {
    append_limit(name, ring, rates.size(), to);
  });
  to->end_list();
}

// The callers with the most denials, in shadow too.
void append_denied(const DeniedCallers::Callers& denied, JsonWriter* to) {
  using Caller = const DeniedCallers::Callers::value_type*;
  std::vector<Caller> callers;
  callers.reserve(denied.size());
  for (const auto& one : denied) callers.push_back(&one);
  std::ranges::stable_sort(callers, [](Caller a, Caller b) {
    return std::tie(b->second.denied, b->second.shadowed) <
           std::tie(a->second.denied, a->second.shadowed);
  });
  callers.resize(std::min(callers.size(), LiveData::kMostCallers));
  to->number("denied_ms", DeniedCallers::kSpan / kMillisecond);
  to->key("denied");
  to->begin_list();
  for (const Caller one : callers) {
    to->begin_object();
    to->text("caller", one->first);
    to->number("limited", one->second.denied);
    to->number("shadow", one->second.shadowed);
    // A longer one is cut, and names nobody.
    to->flag("whole", one->first.size() < HeavyHitters::kMaxText);
    to->end_object();
  }
  to->end_list();
}

void append_load(const LoadState& load, JsonWriter* to) {
  to->key("load");
  to->begin_object();
  to->number("loaded", load.loaded);
  to->number("refused", load.refused);
  to->number("last_ms", load.last_ms);
  to->key("mistakes");
  to->begin_list();
  for (const std::string& mistake : load.mistakes) to->text(mistake);
  to->end_list();
  to->end_object();
}

}  // namespace

std::string live_json(const LiveData& data) {
  std::string text;
  JsonWriter to(&text);
  to.begin_object();
  to.number("end_ms", data.end_ms);
  append_all_rates(*data.rates, &to);
  append_denied(data.denied, &to);
  append_load(data.load, &to);
  to.text("limits_file", data.limits);
  to.flag("shadow_mode", data.shadow);
  to.flag("can_reset", data.can_reset);
  to.key("store");
  to.begin_object();
  to.text("kind", data.store);
  if (data.store_answers) to.flag("answers", *data.store_answers);
  to.end_object();
  to.key("counters");
  to.begin_object();
  for (const auto& [counter, value] : data.counters.values) {
    to.number(counter->name, value);
  }
  to.end_object();
  to.end_object();
  return text;
}

}  // namespace limitree::server
