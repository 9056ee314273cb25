#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calls.hpp"
#include "environment.hpp"
#include "layout.hpp"
#include "limitree.hpp"
#include "segments.hpp"

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
    // JavaScript passes no more.  If it did, this would read memory beyond the
    // array.
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

using ProxiesHandle =
    std::unique_ptr<limitree_proxies, Release<limitree_proxies_free>>;

// Reads texts.  Throws an Error that says what is wrong with `name`.
void read(const Napi::CallbackInfo& info, const std::vector<napi_value>& values,
          const char* name, Segments* texts) {
  std::size_t index = 0;
  const char* const wrong =
      texts->read(info.Env(), values.data(), values.size(), &index);
  if (wrong == nullptr) return;
  throw Error(LIMITREE_INVALID_ARGUMENT, {std::string(name) + " " + wrong});
}

Napi::Value text_of(Napi::Env env, const limitree_ip& ip) {
  return Napi::String::New(env, ip.text, static_cast<std::size_t>(ip.size));
}

// (peer, ...lines)
Napi::Value client(const Napi::CallbackInfo& info) {
  std::vector<napi_value> values;
  for (std::size_t i = 0; i < info.Length(); ++i) values.push_back(info[i]);
  Segments texts;
  read(info, values, "an address", &texts);
  const limitree_str* const peer = texts.data();
  limitree_ip ip;
  check(limitree_client_ip, static_cast<limitree_proxies*>(info.Data()), *peer,
        peer + 1, texts.size() - 1, &ip);
  return text_of(info.Env(), ip);
}

}  // namespace

Napi::Value http_headers_of(const Napi::CallbackInfo& info) {
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
}

Napi::Value http_problem_of(const Napi::CallbackInfo& info) {
  const HttpAnswer answer(info, info[1]);
  const HttpText text = http_problem(info[0].As<Napi::Number>().Int32Value(),
                                     answer.decision(), answer.levels());
  return to_string(info.Env(), text.view());
}

Napi::Value canonical_ip(const Napi::CallbackInfo& info) {
  Segments texts;
  read(info, {info[0]}, "address", &texts);
  limitree_ip ip;
  check(limitree_canonical_ip, *texts.data(),
        info[1].As<Napi::Number>().Int32Value(), &ip);
  return text_of(info.Env(), ip);
}

Napi::Value proxies(const Napi::CallbackInfo& info) {
  const auto trusted = info[2].As<Napi::Array>();
  std::vector<napi_value> values;
  for (std::uint32_t i = 0; i < trusted.Length(); ++i) {
    values.push_back(trusted.Get(i));
  }
  Segments networks;
  read(info, values, "a network in trustedProxies", &networks);
  limitree_proxies* made = nullptr;
  check(limitree_proxies_new,
        info[0].As<Napi::Boolean>().Value() ? LIMITREE_FORWARDED
                                            : LIMITREE_X_FORWARDED_FOR,
        info[1].As<Napi::Number>().Int32Value(), networks.data(),
        networks.size(), info[3].As<Napi::Number>().Int32Value(), &made);
  ProxiesHandle handle(made);
  const Napi::Function function =
      Napi::Function::New(info.Env(), guarded<client>, "client", made);
  // They live as long as the function.
  function.AddFinalizer(
      [](Napi::Env, limitree_proxies* proxies) {
        limitree_proxies_free(proxies);
      },
      made);
  handle.release();
  return function;
}

}  // namespace limitree::node
