// Look-ups for which there is no memory.

#include <gtest/gtest.h>
#include <poll.h>

#include <limits>
#include <memory>
#include <new>
#include <string>

#include "capi/starving_new.hpp"
#include "io/lookup.hpp"

namespace limitree {
namespace {

class Nothing final : public Lookup {
  std::string ask() override { return ""; }
};

// Whether its thread finds no memory.
bool starves(const std::shared_ptr<Lookup>& lookup) {
  g_allocations_left = 0;
  bool starved = false;
  try {
    Lookup::start(lookup);
  } catch (const std::bad_alloc&) {
    starved = true;
  }
  g_allocations_left = std::numeric_limits<long>::max();
  return starved;
}

TEST(Lookup, IsNotCountedUnlessItRuns) {
  for (int i = 0; i < 2 * Lookup::kMaxThreads; ++i) {
    ASSERT_TRUE(starves(std::make_shared<Nothing>()));
  }
  const auto lookup = std::make_shared<Nothing>();
  ASSERT_EQ(Lookup::start(lookup), "");
  pollfd watched{lookup->fd(), POLLIN, 0};
  EXPECT_EQ(poll(&watched, 1, 60'000), 1);
  EXPECT_TRUE(lookup->done());
}

}  // namespace
}  // namespace limitree
