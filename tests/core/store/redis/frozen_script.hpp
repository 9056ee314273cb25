// The scripts for several requests ask the server for the time.  Here one gets
// the time of a test, and its keys do not expire.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/store/redis/script_store.hpp"
#include "store/redis/script/script_writer.hpp"

namespace limitree::redis {

// The command that runs the script for `requests` requests like `plan`, at
// `now`.
inline std::string frozen_script(const Plan& plan, const Families& families,
                                 std::size_t requests, Instant now) {
  std::string text =
      write_script(plan, families, false, Layout::kWritten, true);
  const auto replace = [&text](std::string_view from, std::string_view to) {
    for (std::size_t at; (at = text.find(from)) != text.npos;) {
      text.replace(at, from.size(), to);
    }
  };
  replace("call('TIME')", "ARGV");
  replace("call('EXPIRE',", "redis.log(redis.LOG_DEBUG,");
  std::string command;
  const std::size_t keys = requests * families.members().size();
  append_array(5 + keys, &command);
  append_word("EVAL", &command);
  append_word(text, &command);
  append_word(static_cast<std::int64_t>(keys), &command);
  for (std::size_t i = 0; i < requests; ++i) {
    for (const Families::Member& member : families.members()) {
      std::string key;
      append_key(plan, member.family, ScriptStore::kPrefix, &key);
      append_word(key, &command);
    }
  }
  const std::int64_t us = now.time_since_epoch().count() / 1000;
  append_word(us / 1'000'000, &command);
  append_word(us % 1'000'000, &command);
  return command;
}

}  // namespace limitree::redis
