#include "web/decision_json.hpp"

#include <cstdint>
#include <string_view>

#include "http/exchange.hpp"
#include "json/writer.hpp"

namespace limitree::server {

namespace {

void add(JsonWriter* to, std::string_view name, std::int64_t value) {
  to->key(name);
  to->number(value);
}

void add_flag(JsonWriter* to, std::string_view name, bool value) {
  to->key(name);
  to->flag(value);
}

// A number that is not known is left out.
void add_known(JsonWriter* to, std::string_view name, std::int64_t value) {
  if (value >= 0) add(to, name, value);
}

void add_text(JsonWriter* to, std::string_view name, std::string_view value) {
  to->key(name);
  to->text(value);
}

void append_level(const limitree_level& level, JsonWriter* to) {
  to->begin_object();
  add_text(to, "policy", {level.policy.data, level.policy.size});
  add_flag(to, "limited", level.limited != 0);
  add(to, "limit", level.limit);
  add(to, "remaining", level.remaining);
  add_known(to, "retry_after_ns", level.retry_after_ns);
  add(to, "reset_after_ns", level.reset_after_ns);
  add(to, "next_after_ns", level.next_after_ns);
  add(to, "grows_after_ns", level.grows_after_ns);
  add(to, "window_ns", level.window_ns);
  add(to, "cost", level.cost);
  add(to, "path", level.path);
  add_flag(to, "charged", level.charged != 0);
  if (level.soft != 0) add_flag(to, "soft", true);
  add_text(to, "mode", limitree_mode_name(level.mode));
  to->end_object();
}

void append_flags(const limitree_decision& decision, JsonWriter* to) {
  const struct {
    std::uint32_t flag;
    std::string_view name;
  } flags[] = {{LIMITREE_UNLIMITED, "unlimited"},
               {LIMITREE_SHADOWED, "shadowed"},
               {LIMITREE_SOFT, "soft"},
               {LIMITREE_DEGRADED, "degraded"}};
  for (const auto& [flag, name] : flags) {
    if ((decision.flags & flag) != 0) add_flag(to, name, true);
  }
}

}  // namespace

void append_decision(const limitree_decision& decision,
                     std::span<const limitree_level> levels, bool with_levels,
                     std::string* out) {
  JsonWriter to(out);
  to.begin_object();
  add_flag(&to, "limited", decision.limited != 0);
  add_known(&to, "limit", decision.limit);
  add_known(&to, "remaining", decision.remaining);
  add_known(&to, "retry_after_ns", decision.retry_after_ns);
  add(&to, "reset_after_ns", decision.reset_after_ns);
  add(&to, "next_after_ns", decision.next_after_ns);
  add(&to, "binding_reset_after_ns", decision.binding_reset_after_ns);
  add_known(&to, "level", decision.level);
  add(&to, "level_count", decision.level_count);
  add_text(&to, "source", limitree_source_name(decision.source));
  append_flags(decision, &to);
  if (with_levels) {
    to.key("levels");
    to.begin_list();
    for (const limitree_level& level : levels) append_level(level, &to);
    to.end_list();
  }
  to.end_object();
}

int http_status_of(limitree_status status) {
  switch (status) {
    case LIMITREE_INVALID_ARGUMENT:
      return 400;
    case LIMITREE_UNKNOWN_ROOT:
      return 404;
    case LIMITREE_OUT_OF_MEMORY:
    case LIMITREE_STORE_UNAVAILABLE:
    case LIMITREE_CANCELLED:  // the server ends
      return 503;
    case LIMITREE_STORE_TIMEOUT:
      return 504;
    default:
      return 500;
  }
}

void append_problem(int status, std::string_view detail, std::string* out) {
  JsonWriter to(out);
  to.begin_object();
  add_text(&to, "title", reason_of(status));
  add(&to, "status", status);
  add_text(&to, "detail", detail);
  to.end_object();
}

}  // namespace limitree::server
