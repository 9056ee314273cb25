// Settings for a store that a test opens on its own server.

#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "store/redis/common/settings.hpp"

namespace limitree::redis {

// The settings that a limiter makes of `url`, but with another key prefix on
// each call, and with a deadline that is long enough on a busy machine.
inline Settings store_settings(const std::string& url) {
  static std::atomic<int> count = 0;
  Settings settings;
  Result<Url> parsed = parse_url(url);
  EXPECT_TRUE(parsed.ok()) << url;
  settings.url = std::move(parsed.value());
  settings.login.user = settings.url.user;
  settings.login.password = settings.url.password;
  settings.login.db = settings.url.db;
  settings.prefix = "test" + std::to_string(count++) + ":";
  settings.timeout = std::chrono::seconds(5);
  return settings;
}

}  // namespace limitree::redis
