// limitree.node: limitree.h for Node.js.  The public names are in node/src.

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calls.hpp"
#include "engine.hpp"
#include "environment.hpp"
#include "envoy.hpp"
#include "native.hpp"

namespace limitree::node {

namespace {

Native& native_of(const Napi::CallbackInfo& info) {
  return *static_cast<Native*>(info.Data());
}

using OpenFunction = Napi::Value(Native&, const Napi::CallbackInfo&);

template <OpenFunction* kFunction>
Napi::Value call_open(const Napi::CallbackInfo& info) {
  Native& native = native_of(info);
  if (native.is_closed()) {
    throw Error(LIMITREE_CANCELLED, {"the limiter is closed"});
  }
  return kFunction(native, info);
}

// guarded() for functions of a limiter, which must be open.
template <OpenFunction* kFunction>
Napi::Value if_open(const Napi::CallbackInfo& info) {
  return guarded<call_open<kFunction>>(info);
}

// An array of texts, in pairs.
Pairs pairs_of(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  Pairs pairs;
  for (std::uint32_t i = 0; i + 1 < array.Length(); i += 2) {
    pairs.emplace_back(array.Get(i).As<Napi::String>().Utf8Value(),
                       array.Get(i + 1).As<Napi::String>().Utf8Value());
  }
  return pairs;
}

// parseDuration(text): milliseconds.
Napi::Value duration_of(const Napi::CallbackInfo& info) {
  const std::string text = info[0].As<Napi::String>().Utf8Value();
  return Napi::Number::New(info.Env(),
                           static_cast<double>(parse_duration(text)) / 1e6);
}

// reload(limits), reloadDescriptors(files): a promise.
template <void (Engine::*kReload)(const Pairs&)>
Napi::Value reload(Native& native, const Napi::CallbackInfo& info) {
  return run_in_pool(native, [texts = pairs_of(info[0])](Engine& engine) {
    (engine.*kReload)(texts);
    return 0;
  });
}

// put(name, yaml, replace): a promise.
Napi::Value put(Native& native, const Napi::CallbackInfo& info) {
  return run_in_pool(
      native,
      [name = info[0].As<Napi::String>().Utf8Value(),
       yaml = info[1].As<Napi::String>().Utf8Value(),
       replace = info[2].As<Napi::Number>().Int32Value()](Engine& engine) {
        engine.limiter().put(name, yaml, "limits", replace);
        return 0;
      });
}

// ping(): a promise of milliseconds.
Napi::Value ping(Native& native, const Napi::CallbackInfo& /*info*/) {
  return run_in_pool(native, [](Engine& engine) {
    return static_cast<double>(engine.limiter().ping_ns()) / 1e6;
  });
}

// "shadowLimited" of "shadow_limited"
std::string camel_case(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_upper = name[i] == '_' && i + 1 < name.size();
    text += is_upper ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
  }
  return text;
}

using Values = std::vector<Counters::Value>;

// stats(), ...: an array of pairs, a label and an object of the values that
// have it.  Scopes without labels have one pair.
template <std::uint32_t kScopes>
Napi::Value counters(Native& native, const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto all = limitree::counters(native.engine().get(), kScopes);
  const Napi::Array pairs = Napi::Array::New(env, all.size());
  std::map<const limitree_counter*, Napi::String> names;
  for (const auto& [counter, value] : all.empty() ? Values() : all[0].values) {
    names.emplace(counter, Napi::String::New(env, camel_case(counter->name)));
  }
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const Napi::HandleScope scope(env);
    const Napi::Object values = Napi::Object::New(env);
    for (const auto& [counter, value] : all[i].values) {
      values.Set(names.at(counter),
                 Napi::Number::New(env, static_cast<double>(value)));
    }
    const Napi::Array pair = Napi::Array::New(env, 2);
    pair.Set(0u, to_string(env, all[i].label));
    pair.Set(1u, values);
    pairs.Set(i, pair);
  }
  return pairs;
}

// takeLog(): an array of [event, text], oldest first.
Napi::Value take_log(Native& native, const Napi::CallbackInfo& info) {
  const Napi::Array rows = Napi::Array::New(info.Env());
  for (const LogQueue::Message& message : native.engine().log().take()) {
    const Napi::Array row = Napi::Array::New(info.Env(), 2);
    row.Set(0u, message.event);
    row.Set(1u, message.text);
    rows.Set(rows.Length(), row);
  }
  return rows;
}

// prometheus(): a text.
Napi::Value prometheus(Native& native, const Napi::CallbackInfo& info) {
  return to_string(info.Env(), native.engine().limiter().prometheus().view());
}

// setPressure(number)
Napi::Value set_pressure(Native& native, const Napi::CallbackInfo& info) {
  native.engine().limiter().set_pressure(
      info[0].As<Napi::Number>().DoubleValue());
  return info.Env().Undefined();
}

// names(number): the policy of a level, and its unit.
Napi::Value names(const Napi::CallbackInfo& info) {
  const std::uint32_t number = info[0].As<Napi::Number>().Uint32Value();
  const auto [policy, unit] = native_of(info).names(number);
  const Napi::Array pair = Napi::Array::New(info.Env(), 2);
  pair.Set(0u, to_string(info.Env(), to_view(policy)));
  pair.Set(1u, to_string(info.Env(), to_view(unit)));
  return pair;
}

// root(name): a number for a first segment.
Napi::Value root(const Napi::CallbackInfo& info) {
  const std::size_t number =
      native_of(info).roots().add(info[0].As<Napi::String>().Utf8Value());
  return Napi::Number::New(info.Env(), static_cast<double>(number));
}

Napi::Value close(const Napi::CallbackInfo& info) {
  native_of(info).close();
  return info.Env().Undefined();
}

void keep(napi_env env, napi_value function,
          const std::shared_ptr<Native>& native) {
  napi_add_finalizer(
      env, function, new std::shared_ptr<Native>(native),
      [](napi_env, void* data, void*) {
        delete static_cast<std::shared_ptr<Native>*>(data);
      },
      nullptr, nullptr);
}

using Raw = napi_value(napi_env, napi_callback_info);
using Wrapped = Napi::Value(const Napi::CallbackInfo&);

// Each function keeps the native limiter alive.
Napi::Object functions_of(Napi::Env env,
                          const std::shared_ptr<Native>& native) {
  Napi::Object functions = Napi::Object::New(env);
  const auto add_raw = [&](const char* name, Raw* function) {
    napi_value made = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, function, native.get(),
                         &made);
    keep(env, made, native);
    functions.Set(name, made);
  };
  const auto add = [&](const char* name, Wrapped* function) {
    const Napi::Function made =
        Napi::Function::New(env, function, name, native.get());
    keep(env, made, native);
    functions.Set(name, made);
  };
  add_raw("decide", decide);
  add_raw("start", start);
  add_raw("explain", explain);
  add("reload", if_open<reload<&Engine::reload>>);
  add("reloadDescriptors", if_open<reload<&Engine::reload_descriptors>>);
  add("shouldRateLimit", if_open<should_rate_limit>);
  add("descriptorStats", if_open<counters<LIMITREE_SCOPE_RULES>>);
  add("envoyStats", if_open<counters<LIMITREE_SCOPE_ENVOY>>);
  add("put", if_open<put>);
  add("ping", if_open<ping>);
  add("stats",
      if_open<counters<LIMITREE_SCOPE_REQUESTS | LIMITREE_SCOPE_STORE>>);
  add("limitStats", if_open<counters<LIMITREE_SCOPE_LIMITS>>);
  add("reasonStats", if_open<counters<LIMITREE_SCOPE_REASONS>>);
  add("takeLog", if_open<take_log>);
  add("prometheus", if_open<prometheus>);
  add("setPressure", if_open<set_pressure>);
  add("names", guarded<names>);
  add("root", guarded<root>);
  add("close", close);
  add("runLoop", guarded<run_loop>);
  add("takeCommands", guarded<take_commands>);
  add("reply", guarded<reply>);
  functions.Set("isRemote", native->is_remote());
  functions.Set("isShared", native->engine().limiter().is_shared());
  return functions;
}

// open(limits, options, share, hasClock, descriptors, mergeDomains, client,
// wake): the functions of a limiter.  `options` has names and values in turn.
// The clock's time is in the array.  `client` is undefined, or the flags of a
// client; then `wake` is called for commands of other threads.
Napi::Value open(const Napi::CallbackInfo& info) {
  Environment& environment = Environment::of(info.Env());
  Settings settings;
  settings.limits = pairs_of(info[0]);
  settings.options = pairs_of(info[1]);
  settings.share = info[2].As<Napi::String>().Utf8Value();
  if (info[3].As<Napi::Boolean>().Value()) {
    settings.now_ns = environment.now_ns();
  }
  settings.descriptors = pairs_of(info[4]);
  settings.merge_domains = info[5].As<Napi::Boolean>().Value();
  if (info[6].IsNumber()) settings.client = info[6].ToNumber().Int32Value();
  const auto native =
      std::make_shared<Native>(environment, Engine::open(settings));
  if (settings.client) native->use_client(info[7].As<Napi::Function>());
  return functions_of(info.Env(), native);
}

// connect(makeError, deliver)
Napi::Value connect(const Napi::CallbackInfo& info) {
  Environment::of(info.Env())
      .connect(info[0].As<Napi::Function>(), info[1].As<Napi::Function>());
  return info.Env().Undefined();
}

// The names that `at` has for 0, 1, ... until it has none.
Napi::Array list_of(Napi::Env env, const char* (*at)(std::size_t)) {
  const Napi::Array names = Napi::Array::New(env);
  for (std::uint32_t i = 0; at(i) != nullptr; ++i) names.Set(i, at(i));
  return names;
}

// The names of 0, 1, ... up to the last one that has a name.
Napi::Array names_of(Napi::Env env, const char* (*name)(std::int32_t)) {
  const Napi::Array names = Napi::Array::New(env);
  for (std::int32_t i = 0; std::string_view(name(i)) != "unknown"; ++i) {
    names.Set(static_cast<std::uint32_t>(i), name(i));
  }
  return names;
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  auto* const environment = new Environment(env);
  env.SetInstanceData(environment);
  exports.Set("version", limitree_version());
  exports.Set("opensslVersion", limitree_openssl_version());
  exports.Set("algorithms", list_of(env, limitree_algorithm_at));
  exports.Set("options", list_of(env, limitree_option_at));
  exports.Set("styles", list_of(env, limitree_http_style_at));
  exports.Set("sources", names_of(env, limitree_source_name));
  exports.Set("modes", names_of(env, limitree_mode_name));
  exports.Set("numbers", environment->array());
  const auto add = [&](const char* name, auto* function) {
    exports.Set(name, Napi::Function::New(env, function, name));
  };
  add("connect", connect);
  add("open", guarded<open>);
  add("canonicalIp", guarded<canonical_ip>);
  add("parseDuration", guarded<duration_of>);
  add("httpHeaders", guarded<http_headers_of>);
  add("httpProblem", guarded<http_problem_of>);
  add("proxies", guarded<proxies>);
  return exports;
}

}  // namespace

}  // namespace limitree::node

using limitree::node::init;
NODE_API_MODULE(limitree, init)
