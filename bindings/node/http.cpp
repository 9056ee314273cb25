#include "http.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "environment.hpp"
#include "layout.hpp"
#include "limitree.hpp"

namespace limitree::node {

namespace {

// Numbers of JavaScript are exact up to 2^53, and LIMITREE_NEVER rounds up.
std::int64_t integer(double number) {
  constexpr double kTooLarge = 9223372036854775808.0;
  return number < kTooLarge ? static_cast<std::int64_t>(number)
                            : std::numeric_limits<std::int64_t>::max();
}

limitree_decision read_decision(const double* from) {
  limitree_decision decision{};
  const std::int64_t bits = integer(from[kBits]);
  decision.limited = static_cast<std::int32_t>(bits & 1);
  decision.flags = static_cast<std::uint32_t>(bits >> 1 & 0x7fff);
  decision.limit = integer(from[kLimit]);
  decision.remaining = integer(from[kRemaining]);
  decision.retry_after_ns = integer(from[kRetryAfterNs]);
  decision.binding_reset_after_ns = integer(from[kBindingResetAfterNs]);
  return decision;
}

limitree_level read_level(const double* from, std::string_view policy) {
  limitree_level level{};
  const std::int64_t bits = integer(from[kLevelBits]);
  level.policy = to_str(policy);
  level.limited = static_cast<std::int32_t>(bits & 1);
  level.mode = static_cast<std::int32_t>(bits >> 3);
  level.limit = integer(from[kLevelLimit]);
  level.remaining = integer(from[kLevelRemaining]);
  level.window_ns = integer(from[kWindowNs]);
  level.grows_after_ns = integer(from[kGrowsAfterNs]);
  return level;
}

// The decision and its levels, read from the array of numbers.
class HttpAnswer {
 public:
  HttpAnswer(const Napi::CallbackInfo& info, const Napi::Value& policies) {
    const double* from = Environment::of(info.Env()).numbers() + kInputSize;
    decision_ = read_decision(from);
    from += kDecisionSize;
    if (policies.IsUndefined()) return;
    const auto names = policies.As<Napi::Array>();
    // JavaScript gives no more; if it did, others of its memory would be read.
    const std::size_t count = std::min<std::size_t>(names.Length(), kMaxLevels);
    for (std::uint32_t i = 0; i < count; ++i, from += kLevelSize) {
      policies_[i] = names.Get(i).As<Napi::String>().Utf8Value();
      levels_[i] = read_level(from, policies_[i]);
    }
    known_ = std::span(levels_).first(count);
  }

  const limitree_decision& decision() const { return decision_; }
  KnownLevels levels() const { return known_; }

 private:
  limitree_decision decision_;
  std::array<std::string, kMaxLevels> policies_;
  std::array<limitree_level, kMaxLevels>
      levels_;  // left as they are until read
  KnownLevels known_;
};

// Runs `write()`, and throws its errors into JavaScript.
template <typename Write>
Napi::Value written(const Napi::CallbackInfo& info, const Write& write) {
  try {
    return write();
  } catch (const Error& error) {
    Environment::of(info.Env()).raise(error);
  } catch (const std::bad_alloc&) {
    Environment::of(info.Env())
        .raise(LIMITREE_OUT_OF_MEMORY, "", {"out of memory"});
  }
  return info.Env().Undefined();
}

Napi::String to_string(Napi::Env env, std::string_view text) {
  return Napi::String::New(env, text.data(), text.size());
}

}  // namespace

Napi::Value http_headers_of(const Napi::CallbackInfo& info) {
  return written(info, [&]() -> Napi::Value {
    const HttpAnswer answer(info, info[2]);
    const std::string style = info[0].As<Napi::String>().Utf8Value();
    const HttpText text =
        http_headers(style, answer.decision(), answer.levels(),
                     info[1].As<Napi::Number>().Int64Value() * 1'000'000);
    const Napi::Array fields = Napi::Array::New(info.Env());
    std::uint32_t count = 0;
    for_each_field(text.view(),
                   [&](std::string_view name, std::string_view value) {
                     fields.Set(count++, to_string(info.Env(), name));
                     fields.Set(count++, to_string(info.Env(), value));
                   });
    return fields;
  });
}

Napi::Value http_problem_of(const Napi::CallbackInfo& info) {
  return written(info, [&]() -> Napi::Value {
    const HttpAnswer answer(info, info[1]);
    const HttpText text = http_problem(info[0].As<Napi::Number>().Int32Value(),
                                       answer.decision(), answer.levels());
    return to_string(info.Env(), text.view());
  });
}

}  // namespace limitree::node
