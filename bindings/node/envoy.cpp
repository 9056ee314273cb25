#include "envoy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "environment.hpp"
#include "limitree.hpp"
#include "segments.hpp"

namespace limitree::node {

namespace {

Napi::Array array_of(Napi::Env env, const std::vector<std::int64_t>& all) {
  const Napi::Array numbers = Napi::Array::New(env, all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    numbers.Set(i, static_cast<double>(all[i]));
  }
  return numbers;
}

std::uint32_t number_at(const Napi::Array& array, std::uint32_t index) {
  return array.Get(index).As<Napi::Number>().Uint32Value();
}

// In the order of node/src/envoy.ts.
Napi::Array to_array(Napi::Env env, const limitree_descriptor_status& status) {
  const Napi::Array out =
      array_of(env, {status.code, status.match, status.requests_per_unit,
                     status.period_ns, status.limit_remaining,
                     status.duration_until_reset_ns, status.retry_after_ns,
                     status.reset_after_ns, status.flags, status.quota,
                     status.unit_multiplier});
  out.Set(11u, Napi::String::New(env, limitree_unit_name(status.unit)));
  out.Set(12u, Napi::String::New(env, status.name.data, status.name.size));
  return out;
}

}  // namespace

EnvoyCall::EnvoyCall(const Napi::CallbackInfo& info) {
  const auto descriptors = info[1].As<Napi::Array>();
  request_.domain = keep(info[0]);
  for (std::uint32_t i = 0; i < descriptors.Length(); ++i) {
    const Napi::HandleScope scope(info.Env());
    add(descriptors.Get(i).As<Napi::Array>());
  }
  statuses_.resize(list_.size());
  request_.descriptors = list_.data();
  request_.descriptor_count = list_.size();
  request_.hits_addend = info[2].As<Napi::Number>().Uint32Value();
  request_.flags = info[3].As<Napi::Number>().Uint32Value();
  resets_ = info[4].As<Napi::Boolean>().Value();
}

limitree_str EnvoyCall::keep(const Napi::Value& text) {
  std::optional<std::string> utf8 = to_utf8(text.As<Napi::String>());
  if (!utf8) {
    throw Error(LIMITREE_INVALID_ARGUMENT,
                {"a text has an unpaired surrogate"});
  }
  return to_str(texts_.emplace_back(*std::move(utf8)));
}

void EnvoyCall::add(const Napi::Array& descriptor) {
  const auto texts = descriptor.Get(0u).As<Napi::Array>();
  std::vector<limitree_entry>& entries = entries_.emplace_back();
  for (std::uint32_t i = 0; i + 1 < texts.Length(); i += 2) {
    const limitree_str key = keep(texts.Get(i));
    entries.push_back({key, keep(texts.Get(i + 1))});
  }
  limitree_descriptor& out = list_.emplace_back();
  out.entries = entries.data();
  out.entry_count = entries.size();
  out.flags = number_at(descriptor, 1);
  out.hits_addend = static_cast<std::uint64_t>(
      descriptor.Get(2u).As<Napi::Number>().Int64Value());
  out.requests_per_unit = number_at(descriptor, 3);
  out.unit = static_cast<std::int32_t>(number_at(descriptor, 4));
  out.unit_multiplier = number_at(descriptor, 5);
}

limitree_status EnvoyCall::ask(limitree_limiter* limiter, void* request,
                               limitree_error** error) {
  // Without a server nothing watches a loop: a lock of shm:// is waited for.
  const bool waits = limitree_limiter_is_remote(limiter) == 0;
  if (resets_) {
    return waits ? limitree_reset_descriptors(limiter, &request_, error)
                 : limitree_reset_descriptors_async(limiter, &request_, request,
                                                    error);
  }
  if (waits) {
    return limitree_should_rate_limit(limiter, &request_, statuses_.data(),
                                      statuses_.size(), &response_, error);
  }
  return limitree_should_rate_limit_async(limiter, &request_, request,
                                          statuses_.data(), statuses_.size(),
                                          &response_, error);
}

Napi::Array EnvoyCall::answer(Napi::Env env) const {
  const Napi::Array statuses = Napi::Array::New(env, statuses_.size());
  for (std::uint32_t i = 0; i < statuses_.size(); ++i) {
    const Napi::HandleScope scope(env);
    statuses.Set(i, to_array(env, statuses_[i]));
  }
  const Napi::Array out =
      array_of(env, {response_.overall_code, response_.flags, response_.source,
                     response_.header_status});
  if (response_.metadata != nullptr) {
    const limitree_str text = limitree_text_str(response_.metadata);
    out.Set(4u, Napi::String::New(env, text.data, text.size));
  } else {
    out.Set(4u, env.Undefined());
  }
  out.Set(5u, statuses);
  return out;
}

Napi::Promise EnvoyCall::begin(Napi::Env env) {
  return promise_.emplace(env).Promise();
}

void EnvoyCall::settle(const Environment& environment,
                       const Answer& outcome) const {
  if (!promise_) return;  // JavaScript had no memory for it
  if (outcome.status >= 0) {
    promise_->Resolve(answer(environment.env()));
  } else {
    promise_->Reject(
        environment.error_value(outcome.error.value_or(out_of_memory())));
  }
}

}  // namespace limitree::node
