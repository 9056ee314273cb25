// The cases that every store must pass, with the scripts alone.

#include "core/store/redis/script_store.hpp"

#include <gtest/gtest.h>

#include "core/store/manual_clock.hpp"
#include "core/store/store_cases.hpp"

namespace limitree::script_store_test {
namespace {

class ScriptFixture {
 public:
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  const redis::RedisServer server_;
  redis::ScriptStore store_{server_,
                            [this]() -> redis::Now { return clock_.now(); }};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Script, StoreCases, ScriptFixture);

}  // namespace
}  // namespace limitree::script_store_test
