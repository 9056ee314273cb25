// The vectors of holds through the Redis scripts alone and through the whole
// store, with a caller's clock.

#include <gtest/gtest.h>

#include <string>

#include "conformance/hold_runner.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"
#include "core/store/redis/store_settings.hpp"
#include "store/redis/redis_store.hpp"

namespace limitree::conformance::hold_script_conformance_test {
namespace {

const redis::RedisServer& server() {
  static const redis::RedisServer one;
  return one;
}

class HoldScriptConformance : public testing::TestWithParam<Case> {};

TEST_P(HoldScriptConformance, Script) {
  std::int64_t now = 0;
  redis::ScriptStore store(server(), [&now] { return Instant(Duration(now)); });
  store.send_words({"FLUSHALL"});
  HoldRunner(&store, &now).run(*GetParam().test);
}

TEST_P(HoldScriptConformance, Store) {
  std::int64_t now = 0;
  redis::RedisStore store(
      redis::store_settings("redis+unix://" + server().socket()),
      Clock([](void* self) { return *static_cast<std::int64_t*>(self); },
            &now));
  HoldRunner(&store, &now).run(*GetParam().test);
}

INSTANTIATE_TEST_SUITE_P(Holds, HoldScriptConformance,
                         testing::ValuesIn(hold_cases()), CaseName());

}  // namespace
}  // namespace limitree::conformance::hold_script_conformance_test
