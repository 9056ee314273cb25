#include "address.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "environment.hpp"
#include "limitree.hpp"
#include "segments.hpp"

namespace limitree::node {

namespace {

using ProxiesHandle =
    std::unique_ptr<limitree_proxies, Release<limitree_proxies_free>>;

Napi::Value refuse(Napi::Env env, const Error& error) {
  Environment::of(env).raise(error);
  return env.Undefined();
}

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
  try {
    std::vector<napi_value> values;
    for (std::size_t i = 0; i < info.Length(); ++i) values.push_back(info[i]);
    Segments texts;
    read(info, values, "an address", &texts);
    const limitree_str* const peer = texts.data();
    limitree_ip ip;
    check([&](limitree_error** error) {
      return limitree_client_ip(static_cast<limitree_proxies*>(info.Data()),
                                *peer, peer + 1, texts.size() - 1, &ip, error);
    });
    return text_of(info.Env(), ip);
  } catch (const Error& error) {
    return refuse(info.Env(), error);
  } catch (const std::bad_alloc&) {
    return refuse(info.Env(), Error(LIMITREE_OUT_OF_MEMORY, {"out of memory"}));
  }
}

}  // namespace

Napi::Value canonical_ip(const Napi::CallbackInfo& info) {
  try {
    Segments texts;
    read(info, {info[0]}, "address", &texts);
    limitree_ip ip;
    check([&](limitree_error** error) {
      return limitree_canonical_ip(
          *texts.data(), info[1].As<Napi::Number>().Int32Value(), &ip, error);
    });
    return text_of(info.Env(), ip);
  } catch (const Error& error) {
    return refuse(info.Env(), error);
  } catch (const std::bad_alloc&) {
    return refuse(info.Env(), Error(LIMITREE_OUT_OF_MEMORY, {"out of memory"}));
  }
}

Napi::Value proxies(const Napi::CallbackInfo& info) {
  try {
    const auto trusted = info[2].As<Napi::Array>();
    std::vector<napi_value> values;
    for (std::uint32_t i = 0; i < trusted.Length(); ++i) {
      values.push_back(trusted.Get(i));
    }
    Segments networks;
    read(info, values, "a network in trustedProxies", &networks);
    limitree_proxies* made = nullptr;
    check([&](limitree_error** error) {
      return limitree_proxies_new(
          info[0].As<Napi::Boolean>().Value() ? LIMITREE_FORWARDED
                                              : LIMITREE_X_FORWARDED_FOR,
          info[1].As<Napi::Number>().Int32Value(), networks.data(),
          networks.size(), info[3].As<Napi::Number>().Int32Value(), &made,
          error);
    });
    ProxiesHandle handle(made);
    const Napi::Function function =
        Napi::Function::New(info.Env(), client, "client", made);
    // They live as long as the function.
    function.AddFinalizer(
        [](Napi::Env, limitree_proxies* proxies) {
          limitree_proxies_free(proxies);
        },
        made);
    handle.release();
    return function;
  } catch (const Error& error) {
    return refuse(info.Env(), error);
  } catch (const std::bad_alloc&) {
    return refuse(info.Env(), Error(LIMITREE_OUT_OF_MEMORY, {"out of memory"}));
  }
}

}  // namespace limitree::node
