#include "store/redis/route/redirect.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/store/redis/resp_text.hpp"

namespace limitree::redis {
namespace {

std::string read(const std::string& resp) {
  const std::optional<Redirect> redirect = parse_redirect(*reply_of(resp));
  if (!redirect) return "none";
  return std::to_string(redirect->slot) + " " + redirect->endpoint.text();
}

TEST(ParseRedirect, ReadsSlotAndEndpoint) {
  EXPECT_EQ(read("-MOVED 3999 127.0.0.1:6381\r\n"), "3999 127.0.0.1:6381");
  EXPECT_EQ(read("-ASK 0 redis-2.example.com:1\r\n"),
            "0 redis-2.example.com:1");
  EXPECT_EQ(read("-MOVED 16383 2001:db8::1:65535\r\n"),
            "16383 [2001:db8::1]:65535");
  // Hosts that the cluster does not know.
  EXPECT_EQ(read("-MOVED 5 :6379\r\n"), "5 :6379");
  EXPECT_EQ(read("-ASK 5 ?:6379\r\n"), "5 :6379");
}

TEST(ParseRedirect, RefusesWhatIsNone) {
  for (const char* resp : {"+MOVED 3999 h:6381\r\n",
                           ":3999\r\n",
                           "-MOVED\r\n",
                           "-MOVED \r\n",
                           "-MOVED 3999\r\n",
                           "-MOVED 3999 \r\n",
                           "-MOVED 3999 h\r\n",
                           "-MOVED 3999 h:\r\n",
                           "-MOVED 3999 h:0\r\n",
                           "-MOVED 3999 h:65536\r\n",
                           "-MOVED 3999 h:1 x\r\n",
                           "-MOVED 3999 a b:1\r\n",
                           "-MOVED -1 h:1\r\n",
                           "-MOVED 16384 h:1\r\n",
                           "-MOVED x h:1\r\n",
                           "-MOVED a:1 1\r\n",
                           "-MOVED 99999999999 h:1\r\n",
                           "-moved 1 h:1\r\n",
                           "-ERR MOVED 1 h:1\r\n",
                           "-ASKING 1 h:1\r\n",
                           "$-1\r\n",
                           "*0\r\n"}) {
    EXPECT_EQ(read(resp), "none") << resp;
  }
}

}  // namespace
}  // namespace limitree::redis
