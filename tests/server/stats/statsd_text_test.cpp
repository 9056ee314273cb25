#include "stats/statsd_text.hpp"

#include <gtest/gtest.h>

#include "io/failure.hpp"

namespace limitree::server {
namespace {

Snapshot make_snapshot() {
  Snapshot snapshot;
  snapshot.add_limit("web.key_a", {5, 1, 2, 0, 4, 0, 0, 0});
  snapshot.add_limit("nowhere", {0, 0, 0, 0, 0, 0, 0, 3});
  snapshot.at(ServiceCounter::kServiceError) = 7;
  return snapshot;
}

std::vector<std::string> lines(const StatsSettings& settings,
                               const Snapshot& snapshot) {
  std::vector<std::string> result;
  StatsdText(settings).write(
      snapshot, [&](std::string_view line) { result.emplace_back(line); });
  return result;
}

StatsSettings of(StatsFormat format) {
  StatsSettings settings;
  settings.format = format;
  return settings;
}

TEST(StatsdText, HasCountersThatAreNotZero) {
  EXPECT_EQ(lines(of(StatsFormat::kStatsd), make_snapshot()),
            (std::vector<std::string>{
                "ratelimit.service.call.should_rate_limit.service_error:7|c\n",
                "ratelimit.service.rate_limit.nowhere.domain_not_found:3|c\n",
                "ratelimit.service.rate_limit.web.key_a.total_hits:5|c\n",
                "ratelimit.service.rate_limit.web.key_a.over_limit:1|c\n",
                "ratelimit.service.rate_limit.web.key_a.near_limit:2|c\n",
                "ratelimit.service.rate_limit.web.key_a.within_limit:4|c\n"}));
}

TEST(StatsdText, TagsArePartOfNames) {
  StatsSettings settings = of(StatsFormat::kStatsd);
  settings.extra_tags = "zone:a.b|c,app:x";
  EXPECT_EQ(lines(settings, make_snapshot())[0],
            "ratelimit.service.call.should_rate_limit.service_error.__app=x"
            ".__zone=a_b_c:7|c\n");
}

TEST(StatsdText, DogStatsdHasTagsBehindValues) {
  StatsSettings settings = of(StatsFormat::kDogStatsd);
  settings.extra_tags = "zone:a";
  EXPECT_EQ(lines(settings, make_snapshot())[0],
            "ratelimit.service.call.should_rate_limit.service_error:7|c"
            "|#zone:a\n");
}

TEST(StatsdText, TheFirstMogrifierThatMatchesCounts) {
  StatsSettings settings = of(StatsFormat::kDogStatsd);
  settings.mogrifiers = {
      {"A", "never", "wrong", ""},
      {"B", R"(^ratelimit\.service\.rate_limit\.(.*)\.(.*)\.(.*)$)", "hits.$3",
       "domain:$1,key:$2"},
      {"C", ".", "other", ""}};
  const auto all = lines(settings, make_snapshot());
  EXPECT_EQ(all[0], "other:7|c\n");
  EXPECT_EQ(all[2], "hits.total_hits:5|c|#domain:web,key:key_a\n");
}

// Names come from clients.
TEST(StatsdText, NamesCannotMakeLinesOrTags) {
  StatsSettings settings = of(StatsFormat::kDogStatsd);
  settings.mogrifiers = {{"A", "web(.*)total", "a:b$1", "t:$1"}};
  Snapshot snapshot;
  snapshot.add_limit("web.x,y:1|c\nz:2|c", {1});
  EXPECT_EQ(lines(settings, snapshot)[0],
            "a_b.x,y_1_c_z_2_c.:1|c|#t:.x_y_1_c_z_2_c.\n");
}

TEST(StatsdText, TimesAreMilliseconds) {
  Snapshot snapshot;
  snapshot.methods["Check"].counts[range_of(250 * kMicrosecond)] = 1;
  const auto all = lines(of(StatsFormat::kStatsd), snapshot);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], "ratelimit_server.Check.total_requests:1|c\n");
  EXPECT_EQ(all[1], "ratelimit_server.Check.response_time:0.25|ms\n");
}

TEST(StatsdText, ManyTimesAreSampled) {
  Snapshot snapshot;
  snapshot.methods["Check"].counts[0] = 1'000'000'000;
  const auto all = lines(of(StatsFormat::kDogStatsd), snapshot);
  ASSERT_EQ(all.size(), 101u);
  EXPECT_EQ(all[1],
            "ratelimit_server.Check.response_time:0.000005|ms|@0.0000001\n");
}

TEST(StatsdText, GaugesHaveTheirValues) {
  Snapshot snapshot;
  snapshot.set_cache(10, 4, 2, 0);
  const auto all = lines(of(StatsFormat::kStatsd), snapshot.since(snapshot));
  EXPECT_EQ(
      all, (std::vector<std::string>{"ratelimit.localcache.entryCount:2|g\n",
                                     "ratelimit.localcache.evacuateCount:0|g\n",
                                     "ratelimit.localcache.hitCount:4|g\n",
                                     "ratelimit.localcache.lookupCount:10|g\n",
                                     "ratelimit.localcache.missCount:6|g\n"}));
}

TEST(StatsdText, RefusesWrongTags) {
  StatsSettings settings = of(StatsFormat::kStatsd);
  settings.extra_tags = "zone";
  EXPECT_THROW(StatsdText{settings}, Failure);
}

}  // namespace
}  // namespace limitree::server
