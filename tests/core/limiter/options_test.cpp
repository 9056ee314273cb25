#include "limiter/options.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace limitree {
namespace {

std::string refusal(std::string_view name, std::string_view value) {
  Options options;
  const Status status = set_option(name, value, &options);
  return status.ok() ? "accepted" : status.error().messages.at(0);
}

TEST(SetOption, SetsWhatItNames) {
  Options options;
  ASSERT_TRUE(set_option("max_buckets", "250000", &options).ok());
  EXPECT_EQ(options.max_buckets, 250'000);
  ASSERT_TRUE(set_option("store", "memory://", &options).ok());
  EXPECT_EQ(options.store, "memory://");
}

TEST(SetOption, RefusesNumbersThatAreNone) {
  const std::string range =
      "max_buckets: must be a whole number from 1 to 68719476736";
  for (const char* value : {"", "0", "-1", "1e6", "12x", " 12", "0x10",
                            "68719476737", "99999999999999999999"}) {
    EXPECT_EQ(refusal("max_buckets", value), range) << value;
  }
  EXPECT_EQ(refusal("max_buckets", "68719476736"), "accepted");
}

TEST(SetOption, RefusesStoresThatAreNotThere) {
  EXPECT_EQ(refusal("store", "memory"),
            "store: must be a URL such as memory://");
  const std::string text = refusal("store", "redis://user:secret@host:6379/0");
  EXPECT_EQ(text,
            "store: scheme is not supported by this version, supported is "
            "memory://");
}

TEST(SetOption, NamesTheOptionsThereAre) {
  EXPECT_EQ(refusal("max_bucket", "1"),
            "no option of that name, there are: store, max_buckets");
}

TEST(OptionsMarkdown, IsWhatTheDocsShow) {
  std::ifstream file(LIMITREE_TEST_DATA "/../../docs/configuration.md");
  ASSERT_TRUE(file) << "docs/configuration.md is missing";
  std::stringstream docs;
  docs << file.rdbuf();
  EXPECT_NE(docs.str().find(options_markdown()), std::string::npos)
      << "docs/configuration.md should contain:\n"
      << options_markdown();
}

}  // namespace
}  // namespace limitree
