#include "store/memcached/url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace limitree::memcached {
namespace {

std::string hosts_of(const std::string& text) {
  Result<Url> url = parse_url(text);
  if (!url.ok()) return url.status().message();
  std::string hosts;
  for (const Endpoint& one : url.value().endpoints) {
    hosts += (hosts.empty() ? "" : " ") + one.text();
  }
  return hosts;
}

TEST(MemcachedUrl, NamesItsServers) {
  EXPECT_EQ(hosts_of("memcached://localhost"), "localhost:11211");
  EXPECT_EQ(hosts_of("memcached://a:1,b,[::1]:3/"), "a:1 b:11211 [::1]:3");
  EXPECT_EQ(hosts_of("memcached+unix:///run/m.sock"), "/run/m.sock");
  EXPECT_FALSE(parse_url("memcached://a").value().tls);
  EXPECT_TRUE(parse_url("memcacheds://a").value().tls);
  const Url srv = parse_url("memcacheds+srv://_memcached._tcp.a.org").value();
  EXPECT_TRUE(srv.tls);
  EXPECT_TRUE(srv.endpoints.empty());
  EXPECT_EQ(srv.srv, "_memcached._tcp.a.org");
  EXPECT_EQ(srv.refresh, std::chrono::seconds(0));
  EXPECT_EQ(
      parse_url("memcached+srv://_m._tcp.a?refresh=86400").value().refresh,
      std::chrono::hours(24));
  const Url login = parse_url("memcached://alex:p%3Aw@a").value();
  EXPECT_EQ(login.user, "alex");
  EXPECT_EQ(login.password, "p:w");
}

TEST(MemcachedUrl, IsToldFromOthers) {
  EXPECT_TRUE(is_memcached_url("memcached://"));
  EXPECT_TRUE(is_memcached_url("memcached+srv://a"));
  for (const char* const text :
       {"redis://a", "memcached:a", "memcachedx://a", "memcacheds+unix:///a"}) {
    EXPECT_FALSE(is_memcached_url(text)) << text;
  }
}

TEST(MemcachedUrl, SaysWhatIsWrong) {
  EXPECT_EQ(hosts_of("memcached://"), "store: host is missing");
  EXPECT_EQ(hosts_of("memcached://a,b,a"),
            "store: has the same host twice: a:11211");
  EXPECT_EQ(hosts_of("memcached://a/1"), "store: nothing may follow the hosts");
  EXPECT_EQ(hosts_of("memcached://a?db=1"), "store: nothing may follow \"?\"");
  EXPECT_EQ(hosts_of("memcached://alex@a"),
            "store: a user needs a password, as in "
            "memcached://user:password@host");
  EXPECT_EQ(hosts_of("memcached://al%20ex:x@a"),
            "store: user and password must be words without blanks");
  EXPECT_EQ(hosts_of("memcached+unix://host"),
            "store: a path must follow, as in "
            "memcached+unix:///run/memcached.sock");
  EXPECT_EQ(hosts_of("memcached+srv://"),
            "store: a name must follow, as in "
            "memcached+srv://_memcached._tcp.example.org");
  EXPECT_EQ(hosts_of("memcached+srv://a.example.org"),
            hosts_of("memcached+srv://"));
  for (const char* const query :
       {"", "refresh", "refresh=", "refresh=0", "refresh=86401", "refresh=-1",
        "fresh=1", "refresh=9999999999999999999"}) {
    EXPECT_EQ(hosts_of(std::string("memcached+srv://_m._tcp.a?") + query),
              "store: only refresh=SECONDS may follow \"?\", 1 to 86400");
  }
}

}  // namespace
}  // namespace limitree::memcached
