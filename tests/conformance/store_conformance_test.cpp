// The vectors through the memory store.

#include <gtest/gtest.h>

#include "conformance/store_runner.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::conformance {
namespace {

class MemoryBackend : public Backend {
 public:
  Store* store() override { return &store_; }

  // Charges a fresh bucket one nanosecond's worth, just before the TAT.
  void set_tat(Plan* plan, std::int64_t tat_ns) override {
    set_now(tat_ns - 1);
    EXPECT_TRUE(store_.decide(plan).ok());
  }

  void expect_no_tat(Plan* plan) override {
    EXPECT_LE(debt(plan), Duration(0));
  }

  void expect_tat(Plan* plan, std::int64_t tat_ns) override {
    // A bucket whose TAT has passed may be gone.
    EXPECT_EQ(std::max(debt(plan), Duration(0)),
              std::max(Duration(tat_ns - now_ns()), Duration(0)));
  }

 private:
  static std::int64_t read_clock(void* self) {
    return static_cast<MemoryBackend*>(self)->now_ns();
  }

  // The stored TAT minus now, through the interface: peek does not clamp it.
  Duration debt(Plan* plan) {
    EXPECT_TRUE(store_.decide(plan).ok());
    return plan->levels[0].debt;
  }

  MemoryStore store_{1000, Clock(read_clock, this)};
};

class StoreConformance : public testing::TestWithParam<Case> {};

TEST_P(StoreConformance, Case) {
  MemoryBackend backend;
  run_case(*GetParam().test, &backend);
}

INSTANTIATE_TEST_SUITE_P(Gcra, StoreConformance, testing::ValuesIn(cases()),
                         CaseName());

}  // namespace
}  // namespace limitree::conformance
