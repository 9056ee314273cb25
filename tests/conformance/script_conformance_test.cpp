// The vectors through the Redis script, with a caller's clock; the state is
// compared byte for byte.

#include <gtest/gtest.h>

#include "conformance/store_runner.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"

namespace limitree::conformance::script_conformance_test {
namespace {

class ScriptBackend : public Backend {
 public:
  ScriptBackend() { store_.send_words({"FLUSHALL"}); }

  Store* store() override { return &store_; }

  void set_tat(Plan* plan, std::int64_t tat_ns) override {
    const redis::Address address = address_of_bucket(*plan);
    store_.send_words(
        {"HSET", address.key, address.field, std::to_string(tat_ns)});
  }

  void expect_no_tat(Plan* plan) override { EXPECT_EQ(stored(*plan), ""); }

  void expect_tat(Plan* plan, std::int64_t tat_ns) override {
    const std::string found = stored(*plan);
    if (found.empty()) {
      EXPECT_LE(tat_ns, now_ns());  // full again: it may be gone
    } else {
      EXPECT_EQ(found, std::to_string(tat_ns));
    }
  }

 private:
  static redis::Address address_of_bucket(const Plan& plan) {
    return redis::address_of(plan, plan.levels[0], redis::ScriptStore::kPrefix);
  }

  std::string stored(const Plan& plan) {
    const redis::Address address = address_of_bucket(plan);
    const redis::Reply reply =
        store_.send_words({"HGET", address.key, address.field});
    return reply->type == REDIS_REPLY_STRING
               ? std::string(reply->str, reply->len)
               : "";
  }

  static const redis::RedisServer& server() {
    static const redis::RedisServer one;
    return one;
  }

  redis::ScriptStore store_{server(),
                            [this] { return Instant(Duration(now_ns())); }};
};

class ScriptConformance : public testing::TestWithParam<Case> {};

TEST_P(ScriptConformance, Case) {
  ScriptBackend backend;
  run_case(*GetParam().test, &backend);
}

INSTANTIATE_TEST_SUITE_P(Gcra, ScriptConformance, testing::ValuesIn(cases()),
                         CaseName());

}  // namespace
}  // namespace limitree::conformance::script_conformance_test
