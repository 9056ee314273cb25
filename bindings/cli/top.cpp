// `limitree top`: the limits and the callers that matter now, again and again.

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bucket_sample.hpp"
#include "command.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "limits_file.hpp"
#include "live_server.hpp"
#include "redis_scan.hpp"
#include "remote.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

using Json = nlohmann::ordered_json;

// At most so many refreshes before --once prints.
constexpr int kMostRefreshes = 40;
// Between two refreshes, whatever --every says.
constexpr std::int64_t kLeastWait = kSecondNs / 10;

// What one refresh has found, for people and for machines.
struct View {
  struct Limit {
    std::string name;
    std::optional<SampledLimit> buckets;  // of the store
    std::optional<double> limited;        // per second, of the service
    std::optional<double> shadow;
    std::optional<double> allowed;
  };
  struct Denied {
    std::string caller;
    std::int64_t limited;
    std::int64_t shadow;
  };

  std::vector<Limit> limits;
  std::vector<const SampledBucket*> buckets;
  std::vector<Denied> denied;
  std::string state;
  bool complete = true;  // all callers of the store have been seen
};

double mean_of_minute(const Json& limit, const char* name, double seconds) {
  if (!limit.contains(name)) return 0;
  const Json& counts = limit.at(name);
  const auto wanted = static_cast<std::size_t>(60 / seconds);
  const std::size_t size = std::min(counts.size(), wanted);
  double sum = 0;
  for (std::size_t i = counts.size() - size; i < counts.size(); ++i) {
    sum += std::clamp(counts.at(i).get<double>(), 0.0, 1e15);
  }
  return size == 0 ? 0 : sum / (static_cast<double>(size) * seconds);
}

// "0.25", "17"
std::string rate_text(double rate) {
  if (rate >= 100) return count_text(std::llround(rate));
  std::string text = std::to_string(rate);
  text.resize(text.find('.') + 3);
  return text;
}

class Source {
 public:
  explicit Source(const TopOptions& options) : options_(options) {
    if (!options.limits.empty()) {
      const std::string url = url_of(options.remote);
      Config config;
      set_store(options.remote, url, &config);  // checks the URL
      scan_ = std::make_unique<RedisScan>(url, options.remote.settings);
      config.set("on_store_error", "raise");
      read_limits(options.limits, &config);
      limiter_.emplace(limiter_of(config));
      sample_ = std::make_unique<BucketSample>(scan_.get(), &*limiter_);
    }
  }

  View next() {
    View view;
    if (sample_ != nullptr) {
      sample_->refresh(options_.top);
      for (const auto& one : sample_->limits()) {
        view.limits.push_back({one.first, one.second, {}, {}, {}});
      }
      view.buckets = sample_->top(options_.top);
      view.complete = sample_->is_complete();
      view.state = count_text(sample_->looked()) + " looks at " +
                   std::to_string(scan_->primaries()) +
                   (scan_->primaries() == 1 ? " server" : " servers") +
                   (view.complete ? "" : ", not all callers yet");
    }
    if (!options_.server.empty()) add_service(&view);
    std::ranges::stable_sort(view.limits, [](const auto& a, const auto& b) {
      return std::tuple(a.limited.value_or(0) + a.shadow.value_or(0),
                        a.buckets ? a.buckets->empty : 0) >
             std::tuple(b.limited.value_or(0) + b.shadow.value_or(0),
                        b.buckets ? b.buckets->empty : 0);
    });
    if (view.limits.size() > options_.top) view.limits.resize(options_.top);
    return view;
  }

 private:
  void add_service(View* view) const try {
    const Json data = Json::parse(live_data_of(options_.server));
    const double seconds = data.at("interval_ms").get<double>() / 1000;
    if (seconds < 0.001) throw FileError(other_form());
    for (const Json& one : data.at("limits")) {
      const std::string name = one.at("name").get<std::string>();
      auto limit = std::ranges::find(view->limits, name, &View::Limit::name);
      if (limit == view->limits.end()) {
        limit = view->limits.insert(limit, {name, {}, {}, {}, {}});
      }
      limit->limited = mean_of_minute(one, "limited", seconds);
      limit->shadow = mean_of_minute(one, "shadow", seconds);
      limit->allowed = mean_of_minute(one, "allowed", seconds);
    }
    for (const Json& one : data.at("denied")) {
      if (view->denied.size() == options_.top) break;
      view->denied.push_back({one.at("caller").get<std::string>(),
                              one.at("limited").get<std::int64_t>(),
                              one.at("shadow").get<std::int64_t>()});
    }
    const Json& all = data.at("all");
    view->state +=
        (view->state.empty() ? "" : "; ") +
        rate_text(mean_of_minute(all, "allowed", seconds)) + " allowed/s, " +
        rate_text(mean_of_minute(all, "limited", seconds)) + " limited/s";
  } catch (const Json::exception&) {
    throw FileError(other_form());
  }

  std::string other_form() const {
    return options_.server + ": has an answer of another form";
  }

  const TopOptions& options_;
  std::unique_ptr<RedisScan> scan_;
  std::optional<Limiter> limiter_;
  std::unique_ptr<BucketSample> sample_;
};

std::string maybe_rate(const std::optional<double>& rate) {
  return rate ? rate_text(*rate) : "-";
}

Table limits_table(const View& view, const TopOptions& options, bool utf8) {
  Table table;
  table.add_columns(Align::kLeft, {"limit"});
  if (!options.server.empty()) {
    for (const char* name : {"limited/s", "in shadow/s", "allowed/s"}) {
      table.add_columns(Align::kRight, {name});
    }
  }
  if (!options.limits.empty()) {
    table.add_columns(Align::kRight, {"at the limit", "in use"});
  }
  for (const View::Limit& limit : view.limits) {
    std::vector<Cell> cells = {{printable(limit.name, utf8)}};
    if (!options.server.empty()) {
      const bool limits = limit.limited.value_or(0) > 0;
      cells.push_back(
          {maybe_rate(limit.limited), limits ? Colour::kRed : Colour::kNone});
      cells.push_back({maybe_rate(limit.shadow)});
      cells.push_back({maybe_rate(limit.allowed)});
    }
    if (!options.limits.empty()) {
      const SampledLimit buckets = limit.buckets.value_or(SampledLimit());
      cells.push_back({count_text(buckets.empty),
                       buckets.empty > 0 ? Colour::kRed : Colour::kNone});
      cells.push_back({count_text(buckets.buckets)});
    }
    table.add_row(std::move(cells));
  }
  return table;
}

Table buckets_table(const View& view, bool utf8) {
  Table table;
  table.add_columns(Align::kLeft, {"caller", "limit"});
  table.add_columns(Align::kRight, {"left", "full again in"});
  for (const SampledBucket* const one : view.buckets) {
    table.add_row(
        {{printable(one->caller, utf8)},
         {printable(one->policy, utf8)},
         {std::to_string(one->remaining) + '/' + std::to_string(one->limit),
          one->is_empty() ? Colour::kRed : Colour::kNone},
         {duration_text(one->full_after_ns)}});
  }
  return table;
}

Table denied_table(const View& view, bool utf8) {
  Table table;
  table.add_columns(Align::kLeft, {"denied caller"});
  table.add_columns(Align::kRight, {"limited", "in shadow"});
  for (const View::Denied& one : view.denied) {
    table.add_row({{printable(one.caller, utf8)},
                   {count_text(one.limited)},
                   {count_text(one.shadow)}});
  }
  return table;
}

std::string text_of(const View& view, const TopOptions& options,
                    const Terminal& terminal) {
  const bool utf8 = terminal.utf8;
  std::string text = "limitree top: " + view.state + "\n\n" +
                     limits_table(view, options, utf8).text(terminal);
  if (!options.limits.empty()) {
    text += '\n' + buckets_table(view, utf8).text(terminal);
  }
  if (!options.server.empty()) {
    text += '\n' + denied_table(view, utf8).text(terminal);
  }
  return text;
}

std::string json_of(const View& view) {
  Json limits = Json::array();
  for (const View::Limit& one : view.limits) {
    Json limit = {{"policy", one.name}};
    if (one.buckets) {
      limit["buckets"] = one.buckets->buckets;
      limit["at_limit"] = one.buckets->empty;
    }
    if (one.limited) {
      limit["limited_per_s"] = *one.limited;
      limit["shadow_limited_per_s"] = *one.shadow;
      limit["allowed_per_s"] = *one.allowed;
    }
    limits.push_back(std::move(limit));
  }
  Json buckets = Json::array();
  for (const SampledBucket* const one : view.buckets) {
    buckets.push_back({{"caller", one->caller},
                       {"policy", one->policy},
                       {"limit", one->limit},
                       {"remaining", one->remaining},
                       {"reset_after_ns", one->full_after_ns}});
  }
  Json denied = Json::array();
  for (const View::Denied& one : view.denied) {
    denied.push_back({{"caller", one.caller},
                      {"limited", one.limited},
                      {"shadow_limited", one.shadow}});
  }
  const Json all = {{"limits", limits},
                    {"callers", buckets},
                    {"denied", denied},
                    {"complete", view.complete}};
  // A name need not be UTF-8.
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

volatile sig_atomic_t ended = 0;

void on_end(int /*signal*/) { ended = 1; }

// The other screen of a terminal, without a cursor, until it is destroyed.
class Screen {
 public:
  Screen() {
    // Outside of wait_for() they stay pending: none comes just before it.
    sigset_t ends;
    sigemptyset(&ends);
    struct sigaction action {};
    action.sa_handler = on_end;
    for (const int one : {SIGINT, SIGTERM, SIGHUP}) {
      sigaction(one, &action, nullptr);
      sigaddset(&ends, one);
    }
    sigprocmask(SIG_BLOCK, &ends, &unblocked_);
    print("\033[?1049h\033[?25l");
  }
  ~Screen() {
    try {
      print("\033[?25h\033[?1049l");
    } catch (const FileError&) {  // the terminal is gone
    }
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // As many lines of `text` as there is room for.
  static void show(std::string_view text) {
    winsize size{};
    const bool known =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1;
    std::size_t left = known ? size.ws_row - 1u : 24;
    std::string screen = "\033[H";
    while (!text.empty() && left-- > 0) {
      const std::string_view line = text.substr(0, text.find('\n'));
      screen.append(line).append("\033[K\r\n");
      text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    print(screen + "\033[J");
  }

  // Or until a signal.
  void wait_for(std::int64_t time_ns) const {
    const timespec time{static_cast<time_t>(time_ns / kSecondNs),
                        static_cast<long>(time_ns % kSecondNs)};
    ppoll(nullptr, 0, &time, &unblocked_);
  }

 private:
  sigset_t unblocked_{};
};

}  // namespace

int run(const TopOptions& options) {
  const Terminal terminal = Terminal::of(STDOUT_FILENO);
  Source source(options);
  if (options.once || options.json || !terminal.connected) {
    View view = source.next();
    for (int i = 1; i < kMostRefreshes && !view.complete; ++i) {
      view = source.next();
    }
    print(options.json ? json_of(view) : text_of(view, options, terminal));
    return kExitOk;
  }
  const Screen screen;
  while (ended == 0) {
    // The size of the window may change.
    Screen::show(text_of(source.next(), options, Terminal::of(STDOUT_FILENO)));
    screen.wait_for(std::max(options.every_ns, kLeastWait));
  }
  return kExitOk;
}

}  // namespace limitree::cli
