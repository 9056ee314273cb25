#include "store/shared/shared_url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace limitree::shared {
namespace {

SharedUrl good(const std::string& text) {
  Result<SharedUrl> url = parse_shared_url(text);
  EXPECT_TRUE(url.ok()) << text;
  return url.ok() ? url.value() : SharedUrl();
}

std::string error(const std::string& text) {
  Result<SharedUrl> url = parse_shared_url(text);
  return url.ok() ? "" : url.status().error().messages[0];
}

TEST(SharedUrl, NamesAreBelowDevShm) {
  EXPECT_EQ(good("shm://myapp").path, "/dev/shm/myapp");
  EXPECT_EQ(good("shm:///var/lib/app/limits").path, "/var/lib/app/limits");
  EXPECT_EQ(good("shm://my.app-1_x").path, "/dev/shm/my.app-1_x");
}

TEST(SharedUrl, HasParameters) {
  const SharedUrl plain = good("shm://a");
  EXPECT_EQ(plain.max_buckets, 0);
  EXPECT_EQ(plain.mode, 0600u);
  EXPECT_FALSE(plain.reset);
  EXPECT_TRUE(plain.make);
  const SharedUrl all = good("shm://a?reset=1&mode=0660&max_buckets=5000");
  EXPECT_EQ(all.max_buckets, 5000);
  EXPECT_EQ(all.mode, 0660u);
  EXPECT_TRUE(all.reset);
  EXPECT_EQ(good("shm://a?mode=0666").mode, 0666u);
  EXPECT_EQ(good("shm://a?mode=0606").mode, 0606u);
  EXPECT_FALSE(good("shm://a?reset=0").reset);
  EXPECT_FALSE(good("shm://a?make=0").make);
}

TEST(SharedUrl, SaysWhatIsWrong) {
  const std::string relative =
      "store: shm:// needs a name, as in shm://myapp, or an absolute path, as "
      "in shm:///var/lib/myapp/limits";
  const std::string name =
      "store: the name in shm:// must consist of at most 200 letters, digits "
      "and \"._-\", and not begin with a dot";
  const std::string buckets =
      "store: \"max_buckets\" must be from 1 to 1073741824";
  const std::string mode = "store: \"mode\" must be such as 0600 or 0660";
  const std::string one_of_both =
      "store: \"mode\" must let others read and write, or neither: who does "
      "one "
      "of them can lock the file";
  EXPECT_EQ(error("redis://a"), "store: must begin with shm://");
  EXPECT_EQ(error("shm://"), "store: shm:// needs a name: shm://myapp");
  EXPECT_EQ(error("shm://?reset=1"), "store: shm:// needs a name: shm://myapp");
  EXPECT_EQ(error("shm://a/b"), relative);
  EXPECT_EQ(error("shm://./b"), relative);
  EXPECT_EQ(error("shm://.."), name);
  EXPECT_EQ(error("shm://a b"), name);
  EXPECT_EQ(error("shm://" + std::string(201, 'a')), name);
  EXPECT_EQ(error("shm:///a/"), "store: shm:// needs a file, not a folder");
  EXPECT_EQ(error("shm:///" + std::string(3000, 'a')),
            "store: the path of shm:// is too long");
  EXPECT_EQ(error(std::string("shm:///a\0b", 10)),
            "store: the path has a zero byte");
  EXPECT_EQ(error("shm://a?reset=2"), "store: \"reset\" must be 0 or 1");
  EXPECT_EQ(error("shm://a?make="), "store: \"make\" must be 0 or 1");
  for (const char* bad : {"mode=0777", "mode=0060", "mode=", "mode=x",
                          "mode=-0600", "mode=000000600"}) {
    EXPECT_EQ(error(std::string("shm://a?") + bad), mode) << bad;
  }
  for (const char* bad : {"mode=0644", "mode=0640", "mode=0604", "mode=0664",
                          "mode=0646", "mode=0620", "mode=0602"}) {
    EXPECT_EQ(error(std::string("shm://a?") + bad), one_of_both) << bad;
  }
  for (const char* bad :
       {"max_buckets=0", "max_buckets=", "max_buckets=1x", "max_buckets=-1",
        "max_buckets=1073741825", "max_buckets=99999999999999999999"}) {
    EXPECT_EQ(error(std::string("shm://a?") + bad), buckets) << bad;
  }
  EXPECT_EQ(error("shm://a?size=3"),
            "store: shm:// has no parameter \"size\", there are: "
            "\"make\", \"max_buckets\", \"mode\", \"reset\"");
  EXPECT_EQ(error("shm://a?"),
            "store: shm:// has no parameter \"\", there are: "
            "\"make\", \"max_buckets\", \"mode\", \"reset\"");
}

}  // namespace
}  // namespace limitree::shared
