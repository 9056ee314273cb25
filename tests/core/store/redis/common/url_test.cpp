#include "store/redis/common/url.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace limitree::redis {
namespace {

Url parsed(std::string_view text) {
  Result<Url> url = parse_url(text);
  if (!url.ok()) {
    ADD_FAILURE() << text << ": " << url.status().error().messages.at(0);
    return {};
  }
  return url.value();
}

std::string refusal(std::string_view text) {
  Result<Url> url = parse_url(text);
  if (url.ok()) return "accepted";
  EXPECT_EQ(url.status().code(), Code::kInvalidConfig) << text;
  EXPECT_EQ(url.status().error().messages.size(), 1U) << text;
  return url.status().error().messages.at(0);
}

std::string endpoints(const Url& url) {
  std::string all;
  for (const Endpoint& endpoint : url.endpoints) {
    all += (all.empty() ? "" : " ") + endpoint.text();
  }
  return all;
}

TEST(ParseUrl, ReadsASingleServer) {
  const Url plain = parsed("redis://localhost");
  EXPECT_EQ(plain.topology, Topology::kSingle);
  EXPECT_FALSE(plain.tls);
  EXPECT_EQ(endpoints(plain), "localhost:6379");
  EXPECT_EQ(plain.user, "");
  EXPECT_EQ(plain.password, "");
  EXPECT_EQ(plain.db, 0);

  const Url full = parsed("rediss://alex:s3cret@redis-1.example.com:6390/15");
  EXPECT_EQ(full.topology, Topology::kSingle);
  EXPECT_TRUE(full.tls);
  EXPECT_EQ(endpoints(full), "redis-1.example.com:6390");
  EXPECT_EQ(full.user, "alex");
  EXPECT_EQ(full.password, "s3cret");
  EXPECT_EQ(full.db, 15);

  EXPECT_EQ(endpoints(parsed("redis://10.0.0.1/")), "10.0.0.1:6379");
  EXPECT_EQ(parsed("redis://h/2147483647").db, 2147483647);
  EXPECT_EQ(parsed("redis://h:1").endpoints[0].port, 1);
  EXPECT_EQ(parsed("redis://h:65535").endpoints[0].port, 65535);
}

TEST(ParseUrl, ReadsIpv6InBrackets) {
  const Url url = parsed("redis://[::1]:7000/1");
  EXPECT_EQ(url.endpoints[0].host, "::1");
  EXPECT_EQ(url.endpoints[0].port, 7000);
  EXPECT_EQ(endpoints(url), "[::1]:7000");
  EXPECT_EQ(endpoints(parsed("redis://[2001:db8::2]")), "[2001:db8::2]:6379");
  EXPECT_EQ(endpoints(parsed("redis://[::ffff:10.0.0.1]")),
            "[::ffff:10.0.0.1]:6379");
}

TEST(ParseUrl, DecodesUserAndPassword) {
  const Url url = parsed("redis://us%3aer:p%40%2F%3F%23%25%00%ff:@host");
  EXPECT_EQ(url.user, "us:er");
  EXPECT_EQ(url.password, std::string("p@/?#%\0\xff:", 9));
  EXPECT_EQ(parsed("redis://:only@host").user, "");
  EXPECT_EQ(parsed("redis://:only@host").password, "only");
  EXPECT_EQ(parsed("redis://u:a+b@host").password, "a+b");
}

TEST(ParseUrl, ReadsAUnixSocket) {
  const Url url = parsed("redis+unix:///run/redis/my%20redis.sock");
  EXPECT_EQ(url.topology, Topology::kSingle);
  EXPECT_EQ(url.endpoints[0].host, "");
  EXPECT_EQ(url.endpoints[0].socket, "/run/redis/my redis.sock");
  EXPECT_EQ(endpoints(url), "/run/redis/my redis.sock");
  EXPECT_EQ(url.db, 0);
  EXPECT_EQ(parsed("redis+unix:///s?db=3").db, 3);
  EXPECT_EQ(endpoints(parsed("redis+unix:///run/a@b")), "/run/a@b");

  const Url login = parsed("redis+unix://user:pass@/run/s?db=1");
  EXPECT_EQ(login.user, "user");
  EXPECT_EQ(login.password, "pass");
  EXPECT_EQ(endpoints(login), "/run/s");

  const std::string longest(106, 'x');
  EXPECT_EQ(endpoints(parsed("redis+unix:///" + longest)), "/" + longest);
}

TEST(ParseUrl, ReadsSentinels) {
  const Url url =
      parsed("redis+sentinel://u:p@s1,s2:5000,[::1],10.0.0.1/my.master-1/2");
  EXPECT_EQ(url.topology, Topology::kSentinel);
  EXPECT_EQ(endpoints(url), "s1:26379 s2:5000 [::1]:26379 10.0.0.1:26379");
  EXPECT_EQ(url.service, "my.master-1");
  EXPECT_EQ(url.db, 2);
  EXPECT_EQ(url.user, "u");
  EXPECT_EQ(url.password, "p");
  EXPECT_FALSE(url.tls);
  EXPECT_EQ(parsed("redis+sentinel://h/mymaster").db, 0);
  EXPECT_EQ(parsed("redis+sentinel://h/mymaster/").db, 0);
  EXPECT_EQ(parsed("redis+sentinel://h/my%6daster").service, "mymaster");
  EXPECT_TRUE(parsed("rediss+sentinel://h/m").tls);
}

TEST(ParseUrl, ReadsAClustersNodes) {
  const Url url = parsed("redis+cluster://u:p@h1,h2:7001,[::1]:7002");
  EXPECT_EQ(url.topology, Topology::kCluster);
  EXPECT_EQ(endpoints(url), "h1:6379 h2:7001 [::1]:7002");
  EXPECT_EQ(url.service, "");
  EXPECT_EQ(endpoints(parsed("redis+cluster://h/")), "h:6379");
  EXPECT_EQ(parsed("redis+cluster://h/0").db, 0);
  EXPECT_TRUE(parsed("rediss+cluster://h").tls);
}

TEST(ParseUrl, ReadsValkeysSpellings) {
  const std::vector<std::pair<std::string, std::string>> same = {
      {"valkey://h:1/2", "redis://h:1/2"},
      {"valkeys://u:p@h", "rediss://u:p@h"},
      {"valkey+unix:///s?db=1", "redis+unix:///s?db=1"},
      {"valkey+sentinel://a,b/m", "redis+sentinel://a,b/m"},
      {"valkeys+sentinel://a/m", "rediss+sentinel://a/m"},
      {"valkey+cluster://a,b", "redis+cluster://a,b"},
      {"valkeys+cluster://a", "rediss+cluster://a"},
  };
  for (const auto& [valkey, redis] : same) {
    EXPECT_TRUE(is_redis_url(valkey));
    EXPECT_TRUE(is_redis_url(redis));
    const Url a = parsed(valkey);
    const Url b = parsed(redis);
    EXPECT_EQ(a.topology, b.topology) << valkey;
    EXPECT_EQ(a.tls, b.tls) << valkey;
    EXPECT_EQ(a.endpoints, b.endpoints) << valkey;
    EXPECT_EQ(a.service, b.service) << valkey;
    EXPECT_EQ(a.user + "\n" + a.password, b.user + "\n" + b.password) << valkey;
    EXPECT_EQ(a.db, b.db) << valkey;
  }
}

TEST(ParseUrl, KnowsItsSchemes) {
  const std::string known =
      "store: scheme must be one of redis, rediss, redis+unix, redis+sentinel, "
      "rediss+sentinel, redis+cluster, rediss+cluster";
  for (const char* text :
       {"", "redis", "redis:/h", "://h", "memory://", "http://h", "redisx://h",
        "valkeyss://h", "rediss+unix:///s", "valkey+unixs:///s", "Redis://h",
        " redis://h", "redis+://h", "re://redis://h"}) {
    EXPECT_FALSE(is_redis_url(text)) << text;
    EXPECT_EQ(refusal(text), known) << text;
  }
}

TEST(ParseUrl, SaysWhatIsWrong) {
  const std::string host =
      "store: host must be a name, an IPv4 address, or an IPv6 address in "
      "brackets";
  const std::string db = "store: database must be 0 to 2147483647";
  const std::string port = "store: port must be 1 to 65535";
  const std::string service =
      "store: service is missing, as in redis+sentinel://host/mymaster";
  const std::string blank =
      "store: blanks and control characters must be percent-encoded";
  const std::string hex = "store: \"%\" must be followed by two hex digits";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"redis://", "store: host is missing"},
      {"redis:///0", "store: host is missing"},
      {"redis://:6379", "store: host is missing"},
      {"redis://u:p@", "store: host is missing"},
      {"redis+cluster://a,,b", "store: host is missing"},
      {"redis+cluster://a,", "store: host is missing"},
      {"redis+sentinel:///m", "store: host is missing"},
      {"redis://h:0", port + ", is \"0\""},
      {"redis://h:65536", port + ", is \"65536\""},
      {"redis://h:", port + ", is \"\""},
      {"redis://h:-1", port},
      {"redis://h:+1", port},
      {"redis://h:1x", port},
      {"redis://h:123456", port},
      {"redis://h:99999999999999999999", port},
      {"redis+cluster://a,b:0", port + ", is \"0\""},
      {"redis://[::1]:0", port + ", is \"0\""},
      {"redis://h/x", db},
      {"redis://h/-1", db},
      {"redis://h/2147483648", db},
      {"redis://h/0/1", db},
      {"redis://h//", db},
      {"redis+sentinel://h/m/x", db},
      {"redis+sentinel://h/m/0/0", db},
      {"redis+unix:///s?db=", db + ", is \"\""},
      {"redis+unix:///s?db=1&db=2", db},
      {"redis://[::1", "store: \"[\" without \"]\""},
      {"redis://[::1]x", "store: only a port may follow an IPv6 address"},
      {"redis://[h]", "store: what stands in brackets must be an IPv6 address"},
      {"redis://[]", "store: what stands in brackets must be an IPv6 address"},
      {"redis://[127.0.0.1]",
       "store: what stands in brackets must be an IPv6 address"},
      {"redis://::1:6379",
       "store: an IPv6 address stands in brackets, as in [::1]:6379"},
      {"redis://h_\xc3\xa9", host},
      {"redis://h%41", host},
      {"redis://h]", host},
      {"redis://" + std::string(254, 'a'), host},
      {"redis://a,b",
       "store: several hosts need redis+sentinel:// or redis+cluster://"},
      {"redis://h ", blank},
      {"redis://h\n", blank},
      {"redis://u:p\t@h", blank},
      {std::string("redis://h\0x", 11), blank},
      {"redis://h\x7f", blank},
      {"redis://h#0", "store: \"#\" must be written %23"},
      {"redis://h?db=0", "store: nothing may follow \"?\""},
      {"redis://h?", "store: nothing may follow \"?\""},
      {"redis+cluster://h/?x", "store: nothing may follow \"?\""},
      {"redis://@h", "store: user is empty"},
      {"redis://u:@h", "store: password is empty"},
      {"redis://:@h", "store: password is empty"},
      {"redis://u%:p@h", hex},
      {"redis://u:p%@h", hex},
      {"redis://u:%4@h", hex},
      {"redis://u:%4g@h", hex},
      {"redis://u:%+4@h", hex},
      {"redis://u:%-4@h", hex},
      {"redis+sentinel://h/%zz", hex},
      {"redis+unix:///%zz", hex},
      {"redis+sentinel://h", service},
      {"redis+sentinel://h/", service},
      {"redis+sentinel://h//0", service},
      {"redis+sentinel://h/m%20m",
       "store: service may hold letters, digits, \".\", \"-\" and \"_\" only"},
      {"redis+cluster://h/1", "store: a cluster has database 0 only"},
      {"redis+cluster://h/00", "store: a cluster has database 0 only"},
      {"redis+cluster://h/m", "store: a cluster has database 0 only"},
      {"redis+unix://h/s",
       "store: a path must follow, as in redis+unix:///run/redis.sock"},
      {"redis+unix://", "store: path of the socket is missing"},
      {"redis+unix:///", "store: path of the socket is missing"},
      {"redis+unix://?db=0", "store: path of the socket is missing"},
      {"redis+unix:///" + std::string(107, 'x'),
       "store: path of the socket must be at most 107 bytes"},
      {"redis+unix:///a%00b",
       "store: path of the socket must not hold a NUL byte"},
      {"redis+unix:///s?", "store: only db may follow \"?\", as in ?db=1"},
      {"redis+unix:///s?DB=1", "store: only db may follow \"?\", as in ?db=1"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(refusal(text), expected) << text;
  }
}

TEST(ParseUrl, BoundsTheNumberOfHosts) {
  std::string hosts = "redis+cluster://h";
  for (int i = 1; i < 64; ++i) hosts += ",h";
  EXPECT_EQ(parsed(hosts).endpoints.size(), 64U);
  EXPECT_EQ(refusal(hosts + ",h"), "store: has more than 64 hosts");
}

// A password is often pasted as it is.  Whatever it contains, and wherever the
// URL then fails to parse, the message must not repeat it.
TEST(ParseUrl, NeverShowsThePassword) {
  const std::string raw =
      "store: \"@\" must be written %40, and \"/\" and \"?\" in a user or "
      "password %2F and %3F";
  EXPECT_EQ(refusal("redis://user:12/34@host"), raw);
  EXPECT_EQ(refusal("redis://user:se?cret@host"), raw);
  EXPECT_EQ(refusal("redis+unix://user:se/cret@/run/s"), raw);
  EXPECT_EQ(refusal("redis://user:se@cret@host"),
            "store: \"@\" in a user or password must be written %40");

  const std::string secret = "Zq7xK2vW";
  for (const char* scheme :
       {"redis://", "rediss://", "redis+unix://", "redis+sentinel://",
        "redis+cluster://", "memory://", "rediz://", ""}) {
    for (const char* middle :
         {"",  "/", "?",  "#",  "@",  ":",   "%",   "%zz", "[",     "]",
          ",", " ", "\n", "\\", "//", "://", "%00", "@@",  "[::1]", "/0?db="}) {
      for (const char* rest : {"@host", "@host:0", "@host/x", "@", "", "@h,",
                               "@/run/s", "@/run/s?db=x", "@h,h/m/x"}) {
        for (const char* user : {"user:", ":", ""}) {
          const std::string text =
              scheme + (user + secret) + middle + secret + rest;
          Result<Url> url = parse_url(text);
          if (url.ok()) continue;
          const std::string& message = url.status().error().messages.at(0);
          EXPECT_EQ(message.find(secret), std::string::npos) << text;
          EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
            return c >= 0x20 && c < 0x7f;
          })) << text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace limitree::redis
