#include "services/reflection.hpp"

#include <gtest/gtest.h>

namespace limitree::server {
namespace {

TEST(Descriptors, KnowTheServicesOfTheServer) {
  EXPECT_EQ(DescriptorIndex::own().services(),
            (std::vector<std::string>{
                "envoy.service.ratelimit.v3.RateLimitService",
                "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                "grpc.reflection.v1alpha.ServerReflection",
                "limitree.v1.Descriptors", "limitree.v1.Limiter"}));
}

TEST(Descriptors, FindAFileByItsNameAndByAllThatIsInIt) {
  const DescriptorIndex& index = DescriptorIndex::own();
  const auto file = index.file("limitree/v1/limiter.proto");
  ASSERT_EQ(file.size(), 1u);
  for (const char* const symbol :
       {"limitree.v1.Limiter", "limitree.v1.Limiter.Authorize",
        "limitree.v1.Decision", "limitree.v1.Part"}) {
    EXPECT_EQ(index.file_of(symbol), file) << symbol;
  }
  EXPECT_EQ(index.file_of("grpc.health.v1.HealthCheckResponse.ServingStatus"),
            index.file("grpc/health/v1/health.proto"));
}

TEST(Descriptors, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(DescriptorIndex::own().file("no.proto").empty());
  EXPECT_TRUE(DescriptorIndex::own().file_of("limitree.v1").empty());
  EXPECT_TRUE(DescriptorIndex::own().file_of("").empty());
}

TEST(Descriptors, AFileBringsWhatItNeeds) {
  // Two files, of which the first needs the second and one that is not there.
  const std::string_view set(
      "\x0a\x0b\x0a\x01"
      "a\x1a\x01"
      "b\x1a\x01"
      "c\x12\x00"
      "\x0a\x08\x0a\x01"
      "b\x22\x03\x0a\x01"
      "M",
      23);
  const DescriptorIndex index(set);
  EXPECT_EQ(index.file("a").size(), 2u);
  EXPECT_EQ(index.file_of("M"), index.file("b"));
}

}  // namespace
}  // namespace limitree::server
