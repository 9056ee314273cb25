// What an HTTP response says about a decision.

#include "base/http.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/inline_vector.hpp"
#include "handles.hpp"
#include "text/problems.hpp"

using namespace limitree;
using namespace limitree::capi;

namespace {

// A decision as a C caller passes it, and where the text goes.
struct HttpCall {
  const limitree_decision* decision;
  const limitree_level* levels;
  std::size_t level_count;
  std::int64_t now_ns;
  char* text;
  std::size_t capacity;
  std::size_t* size;
};

void check(const HttpCall& call) {
  require(call.decision, "decision", call.text != nullptr || call.capacity == 0,
          "text", call.size, "size");
  if (call.levels == nullptr) return;
  for (std::size_t i = 0; i < call.level_count; ++i) {
    require(call.levels[i].policy, "policy.data", call.levels[i].unit,
            "unit.data");
  }
}

Decision to_core(const limitree_decision& decision) {
  Decision core;
  core.limited = decision.limited != 0;
  core.unlimited = (decision.flags & LIMITREE_UNLIMITED) != 0;
  core.limit = decision.limit;
  core.remaining = decision.remaining;
  core.retry_after = Duration(decision.retry_after_ns);
  core.binding_reset_after = Duration(decision.binding_reset_after_ns);
  return core;
}

HttpLevel to_core(const limitree_level& level) {
  return {view(level.policy),
          level.limit,
          level.remaining,
          Duration(level.window_ns),
          Duration(level.grows_after_ns),
          static_cast<Mode>(level.mode),
          level.limited != 0,
          view(level.unit)};
}

// Calls `append(answer, text)` with the core's values.  REQUIRES: checked.
template <typename Append>
void write(const HttpCall& call, Append&& append) {
  const Decision decision = to_core(*call.decision);
  InlineVector<HttpLevel, 8> levels;
  HttpAnswer answer{decision, std::nullopt, Duration(call.now_ns)};
  if (call.levels != nullptr) {
    for (std::size_t i = 0; i < call.level_count; ++i) {
      levels.push_back(to_core(call.levels[i]));
    }
    answer.levels.emplace(levels.data(), levels.size());
  }
  HttpText text({call.text, call.capacity});
  append(answer, &text);
  *call.size = text.size();
}

Status unknown_style(std::string_view name) {
  std::vector<std::string_view> known;
  for (const HttpStyle& style : http_styles()) known.emplace_back(style.name);
  return Status(Code::kInvalidArgument,
                unknown_word("style of headers", name, known));
}

}  // namespace

const char* limitree_http_style_at(size_t index) {
  return index < http_styles().size() ? http_styles()[index].name : nullptr;
}

int32_t limitree_http_style_needs_levels(size_t index) {
  return index < http_styles().size() && http_styles()[index].needs_levels ? 1
                                                                           : 0;
}

limitree_status limitree_http_headers(limitree_str style,
                                      const limitree_decision* decision,
                                      const limitree_level* levels,
                                      size_t level_count, int64_t now_ns,
                                      char* text, size_t capacity, size_t* size,
                                      limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(style, "style.data");
    const std::string_view name = view(style);
    const HttpCall call{decision, levels,   level_count, now_ns,
                        text,     capacity, size};
    check(call);
    const auto found = std::ranges::find(http_styles(), name, &HttpStyle::name);
    if (found == http_styles().end()) return unknown_style(name);
    if (found->needs_levels && levels == nullptr &&
        (decision->flags & LIMITREE_UNLIMITED) == 0) {
      return Status(
          Code::kInvalidArgument,
          "headers of the style " + std::string(name) +
              " name every limit, but the levels of the decision are not "
              "given");
    }
    write(call, [&](const HttpAnswer& answer, HttpText* out) {
      append_http_headers(*found, answer, out);
    });
    return {};
  });
}

limitree_status limitree_http_problem(int32_t status,
                                      const limitree_decision* decision,
                                      const limitree_level* levels,
                                      size_t level_count, char* text,
                                      size_t capacity, size_t* size,
                                      limitree_error** error) {
  return guarded(error, [&]() -> Status {
    const HttpCall call{decision, levels, level_count, 0, text, capacity, size};
    check(call);
    if (status < 400 || status > 599) {
      return Status(Code::kInvalidArgument,
                    "status must be 400 to 599, is " + std::to_string(status));
    }
    if (decision->limited == 0) {
      return Status(Code::kInvalidArgument,
                    "the request was allowed: there is no problem");
    }
    write(call, [&](const HttpAnswer& answer, HttpText* out) {
      append_http_problem(answer, status, out);
    });
    return {};
  });
}
