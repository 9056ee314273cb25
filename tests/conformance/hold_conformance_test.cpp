// The vectors of holds through the stores that read this process's clock.

#include <gtest/gtest.h>

#include "conformance/hold_runner.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/shared/shared_file.hpp"
#include "store/memcached/memcached_store.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::conformance::hold_conformance_test {
namespace {

class HoldConformance : public testing::TestWithParam<Case> {
 protected:
  Clock clock() {
    return Clock(
        [](void* self) { return static_cast<HoldConformance*>(self)->now_; },
        this);
  }

  std::int64_t now_ = 0;
};

TEST_P(HoldConformance, Memory) {
  MemoryStore store(1000, clock());
  HoldRunner(&store, &now_).run(*GetParam().test);
}

TEST_P(HoldConformance, Shared) {
  SharedFile file(1000, clock());
  HoldRunner(file.open().get(), &now_).run(*GetParam().test);
}

TEST_P(HoldConformance, Memcached) {
  static const memcached::MemcachedServer server;
  memcached::MemcachedStore store(
      memcached::store_settings("memcached://" + server.host()), clock());
  HoldRunner(&store, &now_).run(*GetParam().test);
}

INSTANTIATE_TEST_SUITE_P(Holds, HoldConformance,
                         testing::ValuesIn(hold_cases()), CaseName());

}  // namespace
}  // namespace limitree::conformance::hold_conformance_test
