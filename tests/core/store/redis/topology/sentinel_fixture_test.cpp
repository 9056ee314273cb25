#include "core/store/redis/topology/sentinel_fixture.hpp"

#include <gtest/gtest.h>

namespace limitree::redis {
namespace {

TEST(SentinelFixture, LosesAPrimaryAndGetsAnother) {
  SentinelFixture fixture;
  ASSERT_EQ(fixture.primary(), 0);
  fixture.server(0).kill();
  const int second = fixture.await_primary(0);
  EXPECT_NE(second, 0);
  // The old primary comes back as a replica.
  fixture.server(0).start();
  EXPECT_EQ(fixture.await_primary(-1), second);

  fixture.suspend(second);
  const int third = fixture.await_primary(second);
  EXPECT_NE(third, second);
  fixture.resume(second);
  EXPECT_EQ(fixture.await_primary(-1), third);
}

TEST(SentinelFixture, HasPasswords) {
  SentinelFixtureOptions options;
  options.password = "one";
  options.sentinel_password = "two";
  SentinelFixture fixture(options);
  EXPECT_EQ(fixture.primary(), 0);
  EXPECT_EQ(fixture.url().rfind("redis+sentinel://:one@127.0.0.1:", 0), 0U);
  EXPECT_TRUE(fixture.url().ends_with("/mymaster"));
  EXPECT_EQ(fixture.server(0).cli({"CONFIG", "GET", "requirepass"}),
            "requirepass\none");
}

}  // namespace
}  // namespace limitree::redis
