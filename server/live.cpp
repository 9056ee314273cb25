#include "live.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <string_view>
#include <tuple>
#include <utility>

#include "json/writer.hpp"
#include "log.hpp"
#include "pages/pages.hpp"

namespace limitree::server {

namespace {

// ---- The data as JSON -------------------------------------------------------

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

// ---- The pages --------------------------------------------------------------

constexpr unsigned char kPage[] = {
#include "live_page.inc"
};
constexpr unsigned char kScript[] = {
#include "live_script.inc"
};

template <std::size_t size>
std::string_view text_of(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char*>(bytes), size};
}

constexpr std::string_view kGuards =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; "
    "style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

void answer_file(std::string_view type, std::string_view text,
                 Exchange* exchange) {
  HttpAnswer* const answer = exchange->answer();
  answer->content_type = type;
  answer->fields = kGuards;
  answer->body = text;
  exchange->finish();
}

std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Not the rest of the URL, which may have a password.
std::string kind_of(const std::string& url) {
  return url.empty() ? "memory" : url.substr(0, url.find("://"));
}

// The option shadow_mode of the limiter: the last one decides.
bool is_shadow(const ServeSettings& settings) {
  bool shadow = settings.shadow;
  for (const auto& [name, value] : settings.options) {
    if (name == "shadow_mode") shadow = value == "on";
  }
  return shadow;
}

}  // namespace

Live::Live(const ServeSettings* settings, limitree_limiter* limiter,
           DescriptorsState* descriptors, const AdminToken* token, Loop* loop)
    : limiter_(limiter),
      token_(token),
      loop_(loop),
      handle_(new_loop(limiter)),
      store_loop_(loop, handle_.get()),
      decider_(handle_.get(), &store_loop_, &settings->answers, descriptors),
      pages_(&decider_, &settings->answers, &settings->header_style),
      sent_(!settings->xds.server.empty()),
      rates_(is_shadow(*settings)),
      next_(loop, [this] { sample(); }) {
  data_.rates = &rates_;
  data_.limits = settings->limits;
  data_.shadow = is_shadow(*settings);
  data_.can_reset = token->is_set();
  data_.store = kind_of(settings->store.url);
  sample();
}

// The page asks only this address, has no inline script or style, and no other
// site may show it in a frame.
void Live::add_to(HandlerTable* handlers) {
  const auto add = [handlers](const char* path, std::string_view type,
                              std::string_view text) {
    handlers->add(path, HttpMethods::kGet, [type, text](Exchange* exchange) {
      answer_file(type, text, exchange);
    });
  };
  add("/ui", "text/html; charset=utf-8", text_of(kPage));
  add("/ui/style.css", "text/css; charset=utf-8", page_style());
  add("/ui/pages.js", "text/javascript; charset=utf-8", page_script());
  add("/ui/live.js", "text/javascript; charset=utf-8", text_of(kScript));
  handlers->add("/ui/data.json", HttpMethods::kGet, [this](Exchange* exchange) {
    answer_file("application/json", json(), exchange);
  });
  pages_.add_looks_to(handlers, token_);
}

void Live::loaded(Loaded what, const LoadReport& report) {
  LoadState& load = data_.load;
  ++(report.loaded ? load.loaded : load.refused);
  load.last_ms = unix_ms();
  std::vector<std::string>& limits = mistakes_[0];
  std::vector<std::string>& descriptors = mistakes_[1];
  (what == Loaded::kAll ? limits : descriptors) = report.mistakes;
  // Limits are read with the files of descriptors.
  if (what == Loaded::kAll && !sent_) descriptors.clear();
  load.mistakes = limits;
  load.mistakes.insert(load.mistakes.end(), descriptors.begin(),
                       descriptors.end());
  load.mistakes.resize(std::min(load.mistakes.size(), LiveData::kMostMistakes));
  json_.clear();
}

void Live::sample() {
  next_.set(after(loop_->now(), RateHistory::kInterval));
  try {
    rates_.sample(limiter_);
  } catch (const std::exception& error) {  // there is no memory now
    log_line(LogLevel::kWarning, error.what());
  }
  data_.end_ms = unix_ms();
  json_.clear();
}

const std::string& Live::json() {
  if (!json_.empty()) return json_;
  data_.denied.clear();
  for (const DeniedCallers* const one : denied_) {
    one->add_to(&data_.denied, steady_now());
  }
  data_.counters =
      totals(limiter_, LIMITREE_SCOPE_REQUESTS | LIMITREE_SCOPE_STORE);
  json_ = live_json(data_);
  return json_;
}

}  // namespace limitree::server
