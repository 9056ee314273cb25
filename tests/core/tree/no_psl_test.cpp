// A build without libpsl: these sources are compiled as in such a build.

#include <gtest/gtest.h>

#include "tree/key_kind.hpp"

namespace limitree {
namespace {

TEST(WithoutLibpsl, KeyDomainIsRefusedAndNothingElse) {
  Result<Key> domain = parse_key("domain");
  ASSERT_FALSE(domain.ok());
  EXPECT_EQ(domain.status().error().messages.front(),
            "key domain needs libpsl, and this build of limitree has none");
  for (const char* text : {"text", "ip", "integer", "fqdn_set", "cidr6/48"}) {
    EXPECT_TRUE(parse_key(text).ok()) << text;
  }
}

}  // namespace
}  // namespace limitree
