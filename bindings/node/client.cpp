// A client of JavaScript that sends the commands of a store; node/src/client.ts
// has its other half.

#include <algorithm>
#include <cstdint>
#include <string>

#include "calls.hpp"
#include "native.hpp"

namespace limitree::node {

namespace {

// Texts are shorter for clients; an id may be any bytes.
Napi::Value word_of(Napi::Env env, const std::string& word) {
  const bool is_ascii = std::ranges::all_of(
      word, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii) return to_string(env, word);
  return Napi::Buffer<char>::Copy(env, word.data(), word.size());
}

}  // namespace

Napi::Value run_loop(const Napi::CallbackInfo& info) {
  Native& native = *static_cast<Native*>(info.Data());
  return Napi::Number::New(info.Env(), native.run_client_loop());
}

Napi::Value take_commands(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Native& native = *static_cast<Native*>(info.Data());
  const Napi::Array list = Napi::Array::New(env);
  if (native.is_closed()) return list;
  for (const SentCommand& sent : native.engine().commands().take()) {
    const Napi::HandleScope scope(env);
    const Napi::Array command = Napi::Array::New(env, sent.words.size() + 2);
    command.Set(0u, Napi::Number::New(env, static_cast<double>(sent.token)));
    command.Set(1u,
                Napi::Number::New(env, static_cast<double>(sent.first_key)));
    std::uint32_t at = 2;
    for (const std::string& word : sent.words) {
      command.Set(at++, word_of(env, word));
    }
    list.Set(list.Length(), command);
  }
  return list;
}

Napi::Value reply(const Napi::CallbackInfo& info) {
  const Native& native = *static_cast<Native*>(info.Data());
  if (native.is_closed()) return info.Env().Undefined();
  const std::string text = info[2].As<Napi::String>().Utf8Value();
  limitree_client_reply(
      native.engine().get(),
      static_cast<std::uint64_t>(info[0].As<Napi::Number>().Int64Value()),
      info[1].As<Napi::Number>().Int32Value(), to_str(text));
  return info.Env().Undefined();
}

}  // namespace limitree::node
