// The vectors through the stores that read this process's clock.

#include <gtest/gtest.h>

#include <memory>

#include "conformance/store_runner.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/shared/shared_file.hpp"
#include "store/memcached/memcached_store.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::conformance::store_conformance_test {
namespace {

class OwnClockBackend : public Backend {
 public:
  Store* store() override { return store_.get(); }

  // Charges a fresh bucket one nanosecond's worth, just before the TAT.
  void set_tat(Plan* plan, std::int64_t tat_ns) override {
    set_now(tat_ns - 1);
    EXPECT_TRUE(store_->decide(plan).ok());
  }

  void expect_no_tat(Plan* plan) override {
    EXPECT_LE(debt(plan), Duration(0));
  }

  void expect_tat(Plan* plan, std::int64_t tat_ns) override {
    // A bucket whose TAT has passed may be gone.
    EXPECT_EQ(std::max(debt(plan), Duration(0)),
              std::max(Duration(tat_ns - now_ns()), Duration(0)));
  }

 protected:
  Clock clock() {
    return Clock(
        [](void* self) {
          return static_cast<OwnClockBackend*>(self)->now_ns();
        },
        this);
  }

  std::unique_ptr<Store> store_;

 private:
  // The stored TAT minus now, through the interface: peek does not clamp it.
  Duration debt(Plan* plan) {
    EXPECT_TRUE(store_->decide(plan).ok());
    return plan->levels[0].debt;
  }
};

class MemoryBackend : public OwnClockBackend {
 public:
  MemoryBackend() { store_ = std::make_unique<MemoryStore>(1000, clock()); }
};

class SharedBackend : public OwnClockBackend {
 public:
  SharedBackend() { store_ = file_.open(); }

 private:
  SharedFile file_{1000, clock()};
};

class MemcachedBackend : public OwnClockBackend {
 public:
  MemcachedBackend() {
    static const memcached::MemcachedServer server;
    store_ = std::make_unique<memcached::MemcachedStore>(
        memcached::store_settings("memcached://" + server.host()), clock());
  }
};

class StoreConformance : public testing::TestWithParam<Case> {};

TEST_P(StoreConformance, Memory) {
  MemoryBackend backend;
  run_case(*GetParam().test, &backend);
}

TEST_P(StoreConformance, Shared) {
  SharedBackend backend;
  run_case(*GetParam().test, &backend);
}

TEST_P(StoreConformance, Memcached) {
  MemcachedBackend backend;
  run_case(*GetParam().test, &backend);
}

INSTANTIATE_TEST_SUITE_P(Gcra, StoreConformance, testing::ValuesIn(cases()),
                         CaseName());

}  // namespace
}  // namespace limitree::conformance::store_conformance_test
