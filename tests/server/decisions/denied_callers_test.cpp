#include "decisions/denied_callers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "limitree.hpp"

namespace limitree::server {
namespace {

TEST(DeniedCallers, WritesPathsSoThatTheyCanBeReadBack) {
  const std::array first = {to_str("user"), to_str("a:b%c"), to_str("")};
  const std::array second = {to_str("ip"), to_str("x y=\xc3\xa9")};
  const std::array paths = {limitree_path{first.data(), first.size(), 1, 0},
                            limitree_path{second.data(), second.size(), 1, 0}};
  EXPECT_EQ(caller_text(paths), "user:a%3Ab%25c: ip:x%20y%3D%C3%A9");
}

TEST(DeniedCallers, WritesDescriptors) {
  const std::array entries = {limitree_entry{to_str("key"), to_str("v=1")},
                              limitree_entry{to_str("user"), to_str("kim")}};
  limitree_descriptor descriptor{};
  descriptor.entries = entries.data();
  descriptor.entry_count = entries.size();
  limitree_envoy_request request{};
  request.domain = to_str("web");
  request.descriptors = &descriptor;
  request.descriptor_count = 1;
  EXPECT_EQ(caller_text(request), "web:key=v%3D1:user=kim");
}

// However long its names are, a caller is no more than a few kilobytes.
TEST(DeniedCallers, TextsAreBounded) {
  const std::string name(1'000'000, '\n');
  const std::array path = {to_str(name), to_str(name)};
  const std::array paths = {limitree_path{path.data(), path.size(), 1, 0}};
  EXPECT_LT(caller_text(paths).size(), 1'000U);
}

TEST(DeniedCallers, ForgetsAfterOneOrTwoSpans) {
  constexpr Duration kSpan = DeniedCallers::kSpan;
  const Monotonic start{std::chrono::hours(1)};
  DeniedCallers denied;
  denied.add("user:alex", false, start);
  denied.add("user:alex", true, start);
  denied.add("user:alex", false, start + kSpan / 2);
  const auto counts = [&denied](Monotonic now) {
    DeniedCallers::Callers all;
    denied.add_to(&all, now);
    const DeniedCallers::Counts alex = all["user:alex"];
    return std::pair(alex.denied, alex.shadowed);
  };
  EXPECT_EQ(counts(start + kSpan / 2), std::pair(2L, 1L));
  denied.add("user:alex", false, start + kSpan);
  EXPECT_EQ(counts(start + kSpan), std::pair(3L, 1L));
  EXPECT_EQ(counts(start + 2 * kSpan), std::pair(1L, 0L));
  EXPECT_EQ(counts(start + 3 * kSpan), std::pair(0L, 0L));
  denied.add("user:alex", false, start + 9 * kSpan);
  EXPECT_EQ(counts(start + 9 * kSpan), std::pair(1L, 0L));
}

}  // namespace
}  // namespace limitree::server
