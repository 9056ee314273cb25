// limitree.hpp - limitree.h for C++20: handles that release themselves, and
// errors as exceptions.
//
// Header-only and built on the C interface alone, so it works with any build of
// the library.  The rules of limitree.h about threads, lifetimes and blocking
// apply.  A denied action is a Decision, never an exception.

#ifndef LIMITREE_HPP
#define LIMITREE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limitree.h"

namespace limitree {

// Separates these names from those inside a static library of the core.
inline namespace api {

inline limitree_str to_str(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string_view to_view(limitree_str text) {
  return {text.data, text.size};
}

template <auto release>
struct Release {
  template <typename T>
  void operator()(T* handle) const noexcept {
    release(handle);
  }
};

using ConfigHandle =
    std::unique_ptr<limitree_config, Release<limitree_config_free>>;
using LimiterHandle =
    std::unique_ptr<limitree_limiter, Release<limitree_limiter_free>>;
using ErrorHandle =
    std::unique_ptr<limitree_error, Release<limitree_error_free>>;
using TextHandle = std::unique_ptr<limitree_text, Release<limitree_text_free>>;

// Values of counters: of one limit, reason or rule, or of the whole limiter.
struct Counters {
  struct Value {
    const limitree_counter* counter;
    std::int64_t value;
  };

  // REQUIRES: there is a counter with that name.
  std::int64_t operator[](std::string_view name) const {
    for (const Value& one : values) {
      if (one.counter->name == name) return one.value;
    }
    throw std::out_of_range("there is no counter " + std::string(name));
  }

  std::string_view label;  // lives as long as the limiter
  std::vector<Value> values;
};

// Calls limitree_limiter_each_counter, and appends the values.
inline limitree_status read_counters(limitree_limiter* limiter,
                                     std::uint32_t scopes,
                                     std::vector<Counters>* counters,
                                     limitree_error** error) {
  std::vector<Counters>* to = counters;  // null: there was no memory for them
  const auto take = [](const limitree_counter* counter, limitree_str label,
                       std::int64_t value, void* data) noexcept {
    auto** const all = static_cast<std::vector<Counters>**>(data);
    if (*all == nullptr) return;
    try {
      if ((*all)->empty() || (*all)->back().label != to_view(label)) {
        (*all)->push_back({to_view(label), {}});
      }
      (*all)->back().values.push_back({counter, value});
    } catch (const std::bad_alloc&) {
      *all = nullptr;
    }
  };
  const limitree_status status =
      limitree_limiter_each_counter(limiter, scopes, take, &to, error);
  return to == nullptr ? LIMITREE_OUT_OF_MEMORY : status;
}

// Why a call failed.
class Error : public std::runtime_error {
 public:
  Error(limitree_status status, std::vector<std::string> messages,
        const char* reason = "")
      : std::runtime_error(messages.front()),
        status_(status),
        reason_(reason),
        messages_(std::make_shared<const std::vector<std::string>>(
            std::move(messages))) {}

  limitree_status status() const noexcept { return status_; }

  // The kind of failure of a store: "readonly".  Empty for all other errors.
  const char* reason() const noexcept { return reason_; }

  // One message for each mistake of a limits.yaml, otherwise exactly one.
  const std::vector<std::string>& messages() const noexcept {
    return *messages_;
  }

  // Returns the Error for `status` and `error`; `error` may be NULL, as it is
  // if there was no memory for it.
  static Error from(limitree_status status, const limitree_error* error) {
    std::vector<std::string> messages;
    const std::size_t count =
        error == nullptr ? 0 : limitree_error_count(error);
    for (std::size_t i = 0; i < count; ++i) {
      messages.emplace_back(limitree_error_message_at(error, i));
    }
    if (messages.empty()) messages.emplace_back(limitree_status_name(status));
    return Error(status, std::move(messages), limitree_error_reason(error));
  }

 private:
  limitree_status status_;
  const char* reason_;  // static storage
  // Shared because copying an exception must not throw.
  std::shared_ptr<const std::vector<std::string>> messages_;
};

// Runs `call(arguments..., limitree_error**)`, and throws what it reports.
template <typename Call, typename... Arguments>
void check(Call&& call, Arguments... arguments) {
  limitree_error* error = nullptr;
  const limitree_status status = call(arguments..., &error);
  const ErrorHandle owner(error);
  if (status >= 0) return;
  if (status == LIMITREE_OUT_OF_MEMORY) throw std::bad_alloc();
  throw Error::from(status, error);
}

// The values of the counters of LIMITREE_SCOPE_LIMITS ..., by their labels.
inline std::vector<Counters> counters(limitree_limiter* limiter,
                                      std::uint32_t scopes) {
  std::vector<Counters> counters;
  check(read_counters, limiter, scopes, &counters);
  return counters;
}

// The same for scopes whose counters have no labels.
inline Counters totals(limitree_limiter* limiter, std::uint32_t scopes) {
  return counters(limiter, scopes).at(0);
}

// The path of a request, from the root: {"user", "alex", "trade"}.
using Path = std::span<const limitree_str>;

// Returns `segments` in the form of a Path; their bytes are borrowed.
template <typename Segments>
std::vector<limitree_str> to_path(const Segments& segments) {
  std::vector<limitree_str> path;
  path.reserve(std::size(segments));
  for (const auto& segment : segments) path.push_back(to_str(segment));
  return path;
}

struct Decision : limitree_decision {
  bool allowed() const { return limited == 0; }
  bool has(std::uint32_t flag) const { return (flags & flag) != 0; }

  // The five-field response of CL.THROTTLE.
  std::array<std::int64_t, 5> cell() const {
    std::array<std::int64_t, 5> fields;
    limitree_decision_cell(this, fields.data());
    return fields;
  }
};

// A decision, and what it takes to settle it: see limitree_reserve.
struct Reservation : Decision {
  limitree_hold hold;
};

// UTF-8 text that the library made.
class Text {
 public:
  explicit Text(limitree_text* text) : text_(text) {}
  std::string_view view() const {
    return to_view(limitree_text_str(text_.get()));
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> warnings;
    const std::size_t count = limitree_text_warning_count(text_.get());
    for (std::size_t i = 0; i < count; ++i) {
      warnings.emplace_back(limitree_text_warning_at(text_.get(), i));
    }
    return warnings;
  }

 private:
  TextHandle text_;
};

// The text that `call(arguments..., limitree_text**, limitree_error**)` makes.
template <typename Call, typename... Arguments>
Text make_text(Call&& call, Arguments... arguments) {
  limitree_text* text = nullptr;
  check(call, arguments..., &text);
  return Text(text);
}

// A limits.yaml that is equivalent to these two files of Boulder.
inline Text limits_from_boulder(std::string_view defaults,
                                std::string_view defaults_origin,
                                std::string_view overrides,
                                std::string_view overrides_origin) {
  return make_text(limitree_limits_from_boulder, to_str(defaults),
                   to_str(defaults_origin), to_str(overrides),
                   to_str(overrides_origin));
}

// The nanoseconds of "500ms", "1m30s": see limitree_parse_duration.
inline std::int64_t parse_duration(std::string_view text) {
  std::int64_t duration_ns = 0;
  check(limitree_parse_duration, to_str(text), &duration_ns);
  return duration_ns;
}

// The limits in "5/second; 100/hour": see limitree_parse_rates.
inline std::vector<limitree_rate> parse_rates(std::string_view text) {
  std::vector<limitree_rate> rates;
  std::size_t count = 1;  // most texts have one
  do {
    rates.resize(count);
    check(limitree_parse_rates, to_str(text), rates.data(), rates.size(),
          &count);
  } while (count > rates.size());
  return rates;
}

// The levels of a decision, or nothing if they are not known.
using KnownLevels = std::optional<std::span<const limitree_level>>;

// For C, in which NULL means that the levels are not known.
inline const limitree_level* to_levels(KnownLevels levels) {
  static constexpr limitree_level kNone{};
  if (!levels) return nullptr;
  return levels->empty() ? &kNone : levels->data();
}

// Text about a response.  Short text needs no allocation.
class HttpText {
 public:
  // `write(char*, capacity, size_t*, limitree_error**)` is one of the two
  // functions of limitree.h that write such text.
  template <typename Write>
  explicit HttpText(const Write& write) {
    check(write, few_.data(), few_.size(), &size_);
    if (size_ <= few_.size()) return;
    many_.resize(size_);
    check(write, many_.data(), many_.size(), &size_);
  }

  std::string_view view() const {
    return {many_.empty() ? few_.data() : many_.data(), size_};
  }

 private:
  std::array<char, 1024> few_;  // uninitialized until written
  std::string many_;            // replaces few_ for longer text
  std::size_t size_ = 0;
};

// The header fields of a response: see limitree_http_headers.
inline HttpText http_headers(std::string_view style,
                             const limitree_decision& decision,
                             KnownLevels levels, std::int64_t now_ns = 0) {
  return HttpText([&](char* text, std::size_t capacity, std::size_t* size,
                      limitree_error** error) {
    return limitree_http_headers(to_str(style), &decision, to_levels(levels),
                                 levels ? levels->size() : 0, now_ns, text,
                                 capacity, size, error);
  });
}

// The body of a denial: see limitree_http_problem.
inline HttpText http_problem(std::int32_t status,
                             const limitree_decision& decision,
                             KnownLevels levels) {
  return HttpText([&](char* text, std::size_t capacity, std::size_t* size,
                      limitree_error** error) {
    return limitree_http_problem(status, &decision, to_levels(levels),
                                 levels ? levels->size() : 0, text, capacity,
                                 size, error);
  });
}

// Calls `each(name, value)` for each field in the text of http_headers().
template <typename Each>
void for_each_field(std::string_view fields, Each&& each) {
  while (!fields.empty()) {
    const std::size_t colon = fields.find(':');
    const std::size_t end = fields.find('\r');
    each(fields.substr(0, colon), fields.substr(colon + 2, end - colon - 2));
    fields.remove_prefix(end + 2);
  }
}

class Config {
 public:
  Config() : config_(limitree_config_new()) {
    if (config_ == nullptr) throw std::bad_alloc();
  }

  // Sets one option of docs/configuration.md.
  Config& set(const std::string& name, std::string_view value) {
    check(limitree_config_set, get(), name.c_str(), to_str(value));
    return *this;
  }

  // Replaces the limit tree; `origin` is the name of the file with `yaml`.
  Config& set_limits(std::string_view yaml, std::string_view origin) {
    check(limitree_config_set_limits, get(), to_str(yaml), to_str(origin));
    return *this;
  }

  // Adds the top-level names in `yaml` to the limit tree.
  Config& add_limits(std::string_view yaml, std::string_view origin) {
    check(limitree_config_add_limits, get(), to_str(yaml), to_str(origin));
    return *this;
  }

  // Adds the descriptors in `files`: see limitree_config_add_descriptors.
  Config& add_descriptors(std::span<const limitree_file> files,
                          bool merge = false) {
    check(limitree_config_add_descriptors, get(), files.data(), files.size(),
          merge ? 1 : 0);
    return *this;
  }

  // A limits.yaml that is equivalent to the descriptors, with a warning for
  // each rule and setting that has no equivalent.
  Text limits_from_descriptors() const {
    return make_text(limitree_limits_from_descriptors, get());
  }

  // `user_data` must outlive every limiter made from this config.
  Config& set_clock(limitree_clock_fn now_ns, void* user_data) {
    check(limitree_config_set_clock, get(), now_ns, user_data);
    return *this;
  }

  // The same applies to `user_data`.
  Config& set_log(limitree_log_fn log, void* user_data) {
    check(limitree_config_set_log, get(), log, user_data, nullptr);
    return *this;
  }

  limitree_config* get() const noexcept { return config_.get(); }

 private:
  ConfigHandle config_;
};

class Limiter {
 public:
  explicit Limiter(const Config& config) {
    limitree_limiter* limiter = nullptr;
    check(limitree_limiter_new, config.get(), &limiter);
    limiter_.reset(limiter);
  }

  Decision authorize(Path path, std::int64_t cost = 1) {
    return call(limitree_authorize, path, cost);
  }
  Decision peek(Path path, std::int64_t cost = 1) {
    return call(limitree_peek, path, cost);
  }
  Decision spend(Path path, std::int64_t cost = 1) {
    return call(limitree_spend, path, cost);
  }
  Decision refund(Path path, std::int64_t cost = 1) {
    return call(limitree_refund, path, cost);
  }

  // Forgets the buckets of every limit along `path`.
  void reset(Path path) { forget(path, 0); }
  // Forgets the buckets of the deepest node that has limits.
  void reset_leaf(Path path) { forget(path, 1); }

  // `operation` is LIMITREE_AUTHORIZE ..., `costs` are those in other units
  // than "request": see limitree_decide_costs.
  Decision decide(std::int32_t operation, std::span<const limitree_path> paths,
                  std::span<limitree_level> levels = {},
                  std::span<const limitree_cost> costs = {}) {
    Decision decision;
    check(limitree_decide_costs, get(), operation, paths.data(), paths.size(),
          costs.data(), costs.size(), levels.data(), levels.size(), &decision);
    return decision;
  }

  // decide() for callers that expect errors: returns the status; if it is
  // negative, *error is the reason.
  limitree_status try_decide(
      std::int32_t operation, std::span<const limitree_path> paths,
      std::span<limitree_level> levels, Decision* decision, ErrorHandle* error,
      std::span<const limitree_cost> costs = {}) noexcept {
    limitree_error* reason = nullptr;
    const limitree_status status = limitree_decide_costs(
        get(), operation, paths.data(), paths.size(), costs.data(),
        costs.size(), levels.data(), levels.size(), decision, &reason);
    if (reason != nullptr) error->reset(reason);
    return status;
  }

  // Holds units until their cost is known, for `hold_ns`; 0: for as long as
  // each limit says.
  Reservation reserve(std::span<const limitree_path> paths,
                      std::span<const limitree_cost> costs = {},
                      std::int64_t hold_ns = 0,
                      std::span<limitree_level> levels = {}) {
    Reservation made;
    check(limitree_reserve, get(), paths.data(), paths.size(), costs.data(),
          costs.size(), hold_ns, &made.hold, levels.data(), levels.size(),
          &made);
    return made;
  }
  // Each of these is about the paths of the reservation; `held` of the decision
  // is the number of levels where the hold still was.
  Decision settle(const limitree_hold& hold,
                  std::span<const limitree_path> paths,
                  std::span<const limitree_cost> costs = {}) {
    Decision decision;
    check(limitree_settle, get(), &hold, paths.data(), paths.size(),
          costs.data(), costs.size(), &decision);
    return decision;
  }
  Decision cancel(const limitree_hold& hold,
                  std::span<const limitree_path> paths) {
    Decision decision;
    check(limitree_cancel, get(), &hold, paths.data(), paths.size(), &decision);
    return decision;
  }
  Decision extend(const limitree_hold& hold,
                  std::span<const limitree_path> paths, std::int64_t hold_ns) {
    Decision decision;
    check(limitree_extend, get(), &hold, paths.data(), paths.size(), hold_ns,
          &decision);
    return decision;
  }

  // Replaces the limit tree, or throws and keeps the old one.
  void reload(std::string_view yaml, std::string_view origin) {
    check(limitree_limiter_reload, get(), to_str(yaml), to_str(origin));
  }

  // Adds one top-level name, or replaces it; `replace` is one of
  // LIMITREE_REPLACE_*.  Throws, and changes nothing, when limitree_limiter_put
  // fails.
  void put(std::string_view name, std::string_view yaml,
           std::string_view origin,
           std::int32_t replace = LIMITREE_REPLACE_NONE) {
    check(limitree_limiter_put, get(), to_str(name), to_str(yaml),
          to_str(origin), replace);
  }

  // Removes a name that put() has added.
  void remove(std::string_view name) {
    check(limitree_limiter_remove, get(), to_str(name));
  }

  // Takes the limit tree and the descriptors of `config`, in one step.
  void reload(const Config& config) {
    check(limitree_limiter_reload_config, get(), config.get());
  }

  // Whether a decision may have to wait for another machine.
  bool is_remote() const noexcept {
    return limitree_limiter_is_remote(get()) != 0;
  }

  // Whether other processes can share the buckets.  Then the store can fail.
  bool is_shared() const noexcept {
    return limitree_limiter_is_shared(get()) != 0;
  }

  // All statistics in the text format that Prometheus reads.
  Text prometheus() const {
    return make_text(limitree_limiter_prometheus, get());
  }

  // How busy this process is, from 0 to 1: see limitree_set_pressure().
  void set_pressure(double pressure) const {
    check(limitree_set_pressure, get(), pressure);
  }

  // Waits for an answer of the store.  Returns how long that took.
  std::int64_t ping_ns() {
    std::int64_t round_trip_ns = 0;
    check(limitree_ping, get(), &round_trip_ns);
    return round_trip_ns;
  }

  // Describes the file behind a shm:// store.
  limitree_store_file store_file() const {
    limitree_store_file file;
    check(limitree_limiter_store_file, get(), &file);
    return file;
  }

  // The tree as text for people.
  Text describe() const { return make_text(limitree_limiter_describe, get()); }

  // How `path` goes down the tree, as text for people.
  Text explain(Path path) const {
    return make_text(limitree_limiter_explain, get(), path.data(), path.size());
  }

  // What is held on `path` and until when, as text for people.
  Text list_holds(Path path) const {
    return make_text(limitree_limiter_list_holds, get(), path.data(),
                     path.size());
  }

  // Answers a request of Envoy; `statuses` has room for one of each descriptor,
  // or for fewer.  See limitree_should_rate_limit.
  limitree_envoy_response should_rate_limit(
      const limitree_envoy_request& request,
      std::span<limitree_descriptor_status> statuses) const {
    limitree_envoy_response response;
    check(limitree_should_rate_limit, get(), &request, statuses.data(),
          statuses.size(), &response);
    return response;
  }

  // Forgets the buckets that the same request would reach.
  void reset_descriptors(const limitree_envoy_request& request) const {
    check(limitree_reset_descriptors, get(), &request);
  }

  // Replaces the descriptors with those of `config`.
  void reload_descriptors(const Config& config) const {
    check(limitree_limiter_reload_descriptors, get(), config.get());
  }

  // All descriptors as text for people.
  Text describe_descriptors() const {
    return make_text(limitree_limiter_describe_descriptors, get());
  }

  // The rules that a descriptor of a request meets, as text for people.
  Text explain_descriptor(std::string_view domain,
                          std::span<const limitree_entry> entries) const {
    return make_text(limitree_limiter_explain_descriptor, get(), to_str(domain),
                     entries.data(), entries.size());
  }

  limitree_limiter* get() const noexcept { return limiter_.get(); }

 private:
  template <typename Function>
  Decision call(Function function, Path path, std::int64_t cost) {
    Decision decision;
    check(function, get(), path.data(), path.size(), cost, &decision);
    return decision;
  }

  void forget(Path path, std::int32_t leaf_only) {
    check(limitree_reset, get(), path.data(), path.size(), leaf_only);
  }

  LimiterHandle limiter_;
};

}  // namespace api
}  // namespace limitree

#endif  // LIMITREE_HPP
