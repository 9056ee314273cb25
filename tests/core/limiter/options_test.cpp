#include "limiter/options.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace limitree {
namespace {

std::string refusal(std::string_view name, std::string_view value) {
  Options options;
  const Status status = set_option(name, value, &options);
  return status.ok() ? "accepted" : status.error().messages.at(0);
}

Options with(
    const std::vector<std::pair<std::string_view, std::string_view>>& all) {
  Options options;
  for (const auto& [name, value] : all) {
    const Status status = set_option(name, value, &options);
    EXPECT_TRUE(status.ok()) << status.error().messages.at(0);
  }
  return options;
}

TEST(SetOption, SetsWhatItNames) {
  const Options options = with({{"max_buckets", "250000"},
                                {"max_bytes", "99000000"},
                                {"timeout", "20ms"},
                                {"connect_timeout", "3s"},
                                {"connections", "8"},
                                {"prefix", "app:"},
                                {"client_name", "web-1"},
                                {"low_latency", "on"},
                                {"share_calls", "off"},
                                {"on_store_error", "local"},
                                {"local_share", "1/8"},
                                {"deny_cache", "off"},
                                {"deny_cache_size", "5000"},
                                {"retry_spread", "15s"},
                                {"near_limit", "0.95"},
                                {"shadow_mode", "on"},
                                {"quota_mode", "on"},
                                {"stop_increment", "enforced"},
                                {"over_cache_size", "100"},
                                {"max_metric_keys", "7"},
                                {"tls_ca_file", "/etc/ca.pem"},
                                {"tls_cert_file", "/etc/us.pem"},
                                {"tls_key_file", "/etc/us.key"},
                                {"tls_server_name", "redis.example"},
                                {"tls_verify", "off"},
                                {"sentinel_username", "watch"},
                                {"sentinel_password", "dog"},
                                {"password_file", "/run/redis"},
                                {"sentinel_password_file", "/run/watch"}});
  const redis::Settings& redis = options.redis_settings;
  EXPECT_EQ(options.max_buckets, 250'000);
  EXPECT_EQ(options.max_bytes, 99'000'000);
  EXPECT_EQ(with({{"max_bytes", "auto"}}).max_bytes, 0);
  EXPECT_EQ(redis.timeout, std::chrono::milliseconds(20));
  EXPECT_EQ(redis.connect_timeout, std::chrono::seconds(3));
  EXPECT_EQ(redis.connections, 8);
  EXPECT_EQ(redis.prefix, "app:");
  EXPECT_EQ(redis.login.client_name, "web-1");
  EXPECT_EQ(redis.sentinel_login.client_name, "web-1");
  EXPECT_EQ(redis.low_latency, redis::LowLatency::kOn);
  EXPECT_EQ(Options().redis_settings.low_latency, redis::LowLatency::kAuto);
  EXPECT_FALSE(redis.share_calls);
  EXPECT_EQ(options.on_store_error, OnStoreError::kLocal);
  EXPECT_EQ(options.local_share, (Share{1, 8}));
  EXPECT_FALSE(options.deny_cache);
  EXPECT_EQ(options.deny_cache_size, 5000);
  EXPECT_EQ(options.retry_spread, std::chrono::seconds(15));
  EXPECT_EQ(options.near_limit, (Share{95, 100}));
  EXPECT_TRUE(options.answer_modes.shadow_mode);
  EXPECT_TRUE(options.answer_modes.quota_mode);
  EXPECT_EQ(options.stop_increment, Stop::kEnforced);
  EXPECT_EQ(options.over_cache_size, 100);
  EXPECT_EQ(options.max_metric_keys, 7);
  EXPECT_EQ(redis.tls.ca_file, "/etc/ca.pem");
  EXPECT_EQ(redis.tls.cert_file, "/etc/us.pem");
  EXPECT_EQ(redis.tls.key_file, "/etc/us.key");
  EXPECT_EQ(redis.tls.server_name, "redis.example");
  EXPECT_FALSE(redis.tls.verify);
  EXPECT_FALSE(redis.tls.verify_name);
  EXPECT_EQ(redis.sentinel_login.user, "watch");
  EXPECT_EQ(redis.sentinel_login.password, "dog");
  EXPECT_EQ(redis.login.password_file, "/run/redis");
  EXPECT_EQ(redis.sentinel_login.password_file, "/run/watch");
}

TEST(SetOption, TakesTheUrlApart) {
  const Options options =
      with({{"client_name", "web-1"},
            {"store", "rediss://app:secret@redis.example:7000/3"}});
  EXPECT_EQ(options.store, StoreKind::kRedis);
  const redis::Settings& redis = options.redis_settings;
  EXPECT_TRUE(redis.url.tls);
  EXPECT_EQ(redis.login.user, "app");
  EXPECT_EQ(redis.login.password, "secret");
  EXPECT_EQ(redis.login.db, 3);
  EXPECT_EQ(redis.login.client_name, "web-1");
  ASSERT_EQ(redis.url.endpoints.size(), 1u);
  EXPECT_EQ(redis.url.endpoints[0].text(), "redis.example:7000");
}

TEST(SetOption, TakesOptionsOfTheServerFromTheUrl) {
  const Options options =
      with({{"store",
             "rediss://app@a/3?password_file=%2Frun%2Fp&tls_verify=authority"
             "&tls_ca_file=/ca&connect_timeout=2s"}});
  const redis::Settings& redis = options.redis_settings;
  EXPECT_EQ(redis.login.user, "app");
  EXPECT_EQ(redis.login.password_file, "/run/p");
  EXPECT_EQ(redis.login.db, 3);
  EXPECT_TRUE(redis.tls.verify);
  EXPECT_FALSE(redis.tls.verify_name);
  EXPECT_EQ(redis.tls.ca_file, "/ca");
  EXPECT_EQ(redis.connect_timeout, std::chrono::seconds(2));
  EXPECT_EQ(options.store_name, "rediss://a/3");
  EXPECT_EQ(with({{"store", "redis+sentinel://u:p@a/b?sentinel_password=q"}})
                .store_name,
            "redis+sentinel://a/b");
  EXPECT_EQ(with({{"store", "redis+unix:///run/r?db=2&password_file=/p"}})
                .redis_settings.login.db,
            2);
  EXPECT_EQ(with({{"store", "redis+unix:///run/r?password_file=/p&db=2"}})
                .redis_settings.login.db,
            2);

  EXPECT_EQ(refusal("store", "rediss://a?tls_verify=maybe"),
            "store: tls_verify: must be on, authority or off");
  EXPECT_EQ(refusal("store", "rediss://a?tls_ca_file=%zz"),
            "store: tls_ca_file: \"%\" must be followed by two hex digits");
  const std::string only =
      "store: only password_file, sentinel_username, sentinel_password, "
      "sentinel_password_file, tls_ca_file, tls_cert_file, tls_key_file, "
      "tls_server_name, tls_verify, connect_timeout may follow \"?\"";
  for (const char* url : {"redis://a?", "redis://a?x", "redis://a?prefix=x",
                          "redis://a?tls_verify=on&", "redis://a?store=x"}) {
    EXPECT_EQ(refusal("store", url), only) << url;
  }
  EXPECT_EQ(refusal("store", "redis://u:pa?secret@a"),
            "store: \"@\" must be written %40, and \"/\" and \"?\" in a user "
            "or password %2F and %3F");
}

TEST(SetOption, TakesAnotherStoreForLimitsOfASecond) {
  Options options =
      with({{"store", "redis://a"},
            {"tls_server_name", "x"},
            {"per_second_store",
             "rediss+sentinel://u:p@b/main?sentinel_password=q"}});
  ASSERT_TRUE(options.per_second);
  const redis::Settings& other = *options.per_second;
  EXPECT_EQ(other.url.topology, redis::Topology::kSentinel);
  EXPECT_EQ(other.login.user, "u");
  EXPECT_EQ(other.login.password, "p");
  EXPECT_EQ(other.sentinel_login.password, "q");
  EXPECT_EQ(other.tls.server_name, "");
  EXPECT_EQ(options.redis_settings.login.user, "");
  EXPECT_FALSE(options.redis_settings.url.tls);
  EXPECT_EQ(refusal("per_second_store", "memory://"),
            "per_second_store: must be a URL such as redis://localhost:6379");
  EXPECT_EQ(refusal("per_second_store", "redis://u:secret@h:x"),
            "per_second_store: port must be 1 to 65535");
  EXPECT_TRUE(set_option("per_second_store", "", &options).ok());
  EXPECT_FALSE(options.per_second);
}

TEST(SetOption, TakesTheLastUrl) {
  const Options options = with({{"store", "redis://app:secret@a/3"},
                                {"store", "valkey://b"},
                                {"client_name", ""}});
  EXPECT_EQ(options.store, StoreKind::kRedis);
  EXPECT_EQ(options.redis_settings.login.user, "");
  EXPECT_EQ(options.redis_settings.login.password, "");
  EXPECT_EQ(options.redis_settings.login.db, 0);
  EXPECT_EQ(options.redis_settings.login.client_name, "");
  EXPECT_EQ(with({{"store", "redis://a"}, {"store", "memory://"}}).store,
            StoreKind::kMemory);
}

TEST(SetOption, RefusesNumbersThatAreNone) {
  const std::string range =
      "max_buckets: must be a whole number from 1 to 68719476736";
  for (const char* value : {"", "0", "-1", "1e6", "12x", " 12", "0x10",
                            "68719476737", "99999999999999999999"}) {
    EXPECT_EQ(refusal("max_buckets", value), range) << value;
  }
  EXPECT_EQ(refusal("max_buckets", "68719476736"), "accepted");
  EXPECT_EQ(refusal("deny_cache_size", "0"),
            "deny_cache_size: must be a whole number from 1 to 68719476736");
  for (const char* value : {"0", "65", "4.0", "four"}) {
    EXPECT_EQ(refusal("connections", value),
              "connections: must be a whole number from 1 to 64");
  }
  EXPECT_EQ(refusal("connections", "64"), "accepted");
}

TEST(SetOption, RefusesTimesThatAreNone) {
  for (const char* value : {"", "fast", "0s", "-1s", "999us", "60001ms", "2h",
                            "1e3ms", "0x5s", "50msx"}) {
    EXPECT_EQ(refusal("timeout", value),
              "timeout: must be a duration from 1ms to 1m")
        << value;
  }
  for (const char* value : {"1ms", "60s", "1m", "2s", "0.05"}) {
    EXPECT_EQ(refusal("timeout", value), "accepted") << value;
  }
}

TEST(SetOption, RefusesSharesThatAreNone) {
  for (const std::string name : {"local_share", "near_limit"}) {
    for (const char* value :
         {"", "2", "1.1", "9/8", "1/0", "/8", "1/", "-1/8", "1 /8", "0.", ".5",
          "50%", "1e-1", "1/2/3", "1.000000001", "0.1234567890", "1/1000000001",
          "0x1/2"}) {
      EXPECT_EQ(refusal(name, value),
                name + ": must be " +
                    (name == "near_limit" ? "at least" : "more than") +
                    " 0 and at most 1, such as 1/8 or 0.125")
          << value;
    }
    for (const char* value : {"1", "1.0", "1/1", "8/8", "0.000000001",
                              "0.123456789", "1/1000000000"}) {
      EXPECT_EQ(refusal(name, value), "accepted") << value;
    }
  }
  EXPECT_EQ(with({{"local_share", "0.125"}}).local_share, (Share{125, 1000}));
}

// From nothing on, every request is near its limit.
TEST(SetOption, TakesANearLimitOfNothing) {
  for (const char* value : {"0", "0.0", "0/8"}) {
    EXPECT_EQ(refusal("near_limit", value), "accepted") << value;
    EXPECT_EQ(with({{"near_limit", value}}).near_limit.part, 0);
    EXPECT_EQ(refusal("local_share", value),
              "local_share: must be more than 0 and at most 1, such as 1/8 or "
              "0.125");
  }
}

TEST(SetOption, TakesWhatIsVerified) {
  const TlsClientSettings tls =
      with({{"tls_verify", "authority"}}).redis_settings.tls;
  EXPECT_TRUE(tls.verify);
  EXPECT_FALSE(tls.verify_name);
  EXPECT_EQ(refusal("tls_verify", "name"),
            "tls_verify: must be on, authority or off");
}

TEST(SetOption, RefusesWordsThatMeanNothing) {
  for (const char* name : {"deny_cache", "share_calls"}) {
    for (const char* value : {"", "yes", "true", "1", "ON", "on "}) {
      EXPECT_EQ(refusal(name, value), std::string(name) + ": must be on or off")
          << value;
    }
    EXPECT_EQ(refusal(name, "on"), "accepted");
    EXPECT_EQ(refusal(name, "off"), "accepted");
  }
  EXPECT_EQ(refusal("on_store_error", "ignore"),
            "on_store_error: must be raise, allow, deny or local");
  EXPECT_EQ(refusal("on_store_error", ""),
            "on_store_error: must be raise, allow, deny or local");
  for (const char* value : {"raise", "allow", "deny", "local"}) {
    EXPECT_EQ(refusal("on_store_error", value), "accepted");
  }
  EXPECT_EQ(refusal("low_latency", "true"),
            "low_latency: must be auto, on or off");
  for (const char* value : {"auto", "on", "off"}) {
    EXPECT_EQ(refusal("low_latency", value), "accepted");
  }
  EXPECT_EQ(refusal("stop_increment", "true"),
            "stop_increment: must be off, on or enforced");
}

TEST(SetOption, RefusesTextsThatRedisWould) {
  EXPECT_EQ(refusal("prefix", "a{b"), "prefix: must not have braces");
  EXPECT_EQ(refusal("prefix", "a}b"), "prefix: must not have braces");
  EXPECT_EQ(refusal("prefix", std::string(101, 'x')),
            "prefix: must have at most 100 bytes");
  EXPECT_EQ(refusal("prefix", std::string(100, 'x')), "accepted");
  EXPECT_EQ(refusal("prefix", "a\nb"),
            "prefix: must not have control characters");
  EXPECT_EQ(refusal("prefix", ""), "accepted");
  EXPECT_EQ(refusal("client_name", "web 1"),
            "client_name: must contain only ASCII letters, digits and signs");
  EXPECT_EQ(refusal("client_name", std::string(101, 'x')),
            "client_name: must have at most 100 bytes");
  EXPECT_EQ(refusal("tls_ca_file", std::string_view("a\0b", 3)),
            "tls_ca_file: must not have control characters");
}

TEST(SetOption, RefusesStoresThatAreNotThere) {
  const std::string message =
      "store: must be memory://, or a URL such as shm://myapp, "
      "redis://localhost:6379 or memcached://localhost:11211";
  for (const char* value : {"", "memory", "redis", "localhost:6379",
                            "mongodb://user:secret@host", "http://host"}) {
    EXPECT_EQ(refusal("store", value), message) << value;
  }
}

// Messages show neither the refused value nor a password in it.
TEST(SetOption, KeepsPasswordsToItself) {
  const std::string text =
      refusal("store", "redis://user:secret@host:port/no-db");
  EXPECT_TRUE(text.starts_with("store: ")) << text;
  EXPECT_EQ(text.find("secret"), text.npos) << text;
  EXPECT_EQ(refusal("sentinel_password", std::string(5000, 's')),
            "sentinel_password: must have at most 4096 bytes");
}

TEST(SetOption, LeavesEverythingAsItWasIfItRefuses) {
  Options options = with({{"store", "redis://app:secret@a/3"}});
  EXPECT_FALSE(set_option("store", "redis://:::", &options).ok());
  EXPECT_FALSE(set_option("connections", "100", &options).ok());
  EXPECT_FALSE(set_option("prefix", "{}", &options).ok());
  EXPECT_EQ(options.redis_settings.login.user, "app");
  EXPECT_EQ(options.redis_settings.connections, 4);
  EXPECT_EQ(options.redis_settings.prefix, "limitree:");
}

TEST(SetOption, NamesTheOptionThatWasMeantOrAll) {
  EXPECT_EQ(refusal("max_bucket", "1"),
            "there is no option \"max_bucket\", did you mean "
            "\"max_buckets\"?");
  const std::string text = refusal("patience", "1");
  EXPECT_TRUE(
      text.starts_with("there is no option \"patience\", there are: "
                       "store, max_buckets, max_bytes, "))
      << text;
}

std::string mismatch(
    const std::vector<std::pair<std::string_view, std::string_view>>& all) {
  const Status status = check_options(with(all));
  return status.ok() ? "" : status.error().messages.at(0);
}

TEST(CheckOptions, BytesAreEnoughForTheTables) {
  EXPECT_EQ(mismatch({{"max_bytes", "63999999"}}),
            "max_bytes: needs 64 for each of max_buckets, 64000000");
  EXPECT_EQ(mismatch({{"max_bytes", "64000000"}}), "");
  EXPECT_EQ(mismatch({{"max_bytes", "640"}, {"max_buckets", "10"}}), "");
}

TEST(CheckOptions, TlsNeedsAStoreThatSpeaksIt) {
  for (const char* name :
       {"tls_ca_file", "tls_cert_file", "tls_key_file", "tls_server_name"}) {
    for (const char* store : {"memory://", "redis://a", "redis+cluster://a"}) {
      EXPECT_EQ(
          mismatch({{"store", store}, {name, "x"}}),
          std::string(name) + ": needs a store with TLS, such as rediss://");
    }
  }
  EXPECT_EQ(mismatch({{"tls_verify", "off"}}),
            "tls_verify: needs a store with TLS, such as rediss://");
  EXPECT_EQ(mismatch({{"store", "rediss://a"},
                      {"tls_verify", "off"},
                      {"tls_ca_file", "x"},
                      {"tls_server_name", "x"}}),
            "");
  EXPECT_EQ(mismatch({{"store", "rediss+sentinel://a/b"},
                      {"tls_cert_file", "x"},
                      {"tls_key_file", "x"}}),
            "");
}

TEST(CheckOptions, ACertificateNeedsItsKey) {
  EXPECT_EQ(mismatch({{"store", "rediss://a"}, {"tls_cert_file", "x"}}),
            "tls_cert_file: needs tls_key_file");
  EXPECT_EQ(mismatch({{"store", "rediss://a"}, {"tls_key_file", "x"}}),
            "tls_key_file: needs tls_cert_file");
}

TEST(CheckOptions, SentinelsAreNeededToLogIn) {
  EXPECT_EQ(mismatch({{"store", "redis://a"}, {"sentinel_username", "x"}}),
            "sentinel_username: needs a store such as redis+sentinel://");
  EXPECT_EQ(mismatch({{"sentinel_password", "x"}}),
            "sentinel_password: needs a store such as redis+sentinel://");
  const auto store = std::pair<std::string_view, std::string_view>(
      "store", "redis+sentinel://a/b");
  EXPECT_EQ(mismatch({store, {"sentinel_username", "x"}}),
            "sentinel_username: needs sentinel_password");
  EXPECT_EQ(mismatch({store, {"sentinel_password", "x"}}), "");
}

TEST(CheckOptions, ALoginHasOnePassword) {
  const auto file =
      std::pair<std::string_view, std::string_view>("password_file", "/run/p");
  EXPECT_EQ(mismatch({{"store", "redis://a"}, file}), "");
  EXPECT_EQ(mismatch({{"store", "redis://u@a"}, file}), "");
  EXPECT_EQ(mismatch({{"store", "redis://u@a"}}),
            "store: needs a password for its user, as in "
            "redis://user:password@host, or password_file");
  EXPECT_EQ(mismatch({{"store", "redis://u:p@a"}, file}),
            "password_file: needs a URL without a password");
  EXPECT_EQ(mismatch({file}), "password_file: needs a store such as redis://");
  EXPECT_EQ(mismatch({{"sentinel_password_file", "x"}}),
            "sentinel_password_file: needs a store such as "
            "redis+sentinel://");
  EXPECT_EQ(mismatch({{"store", "redis+sentinel://a/b"},
                      {"sentinel_password_file", "x"},
                      {"sentinel_password", "x"}}),
            "sentinel_password_file: needs no sentinel_password beside it");
  EXPECT_EQ(mismatch({{"store", "redis+sentinel://a/b"},
                      {"sentinel_password_file", "x"},
                      {"sentinel_username", "x"}}),
            "");
}

TEST(CheckOptions, TheStoreForLimitsOfASecondIsCheckedToo) {
  EXPECT_EQ(mismatch({{"per_second_store", "redis://a"}}),
            "per_second_store: needs a store such as redis://");
  EXPECT_EQ(mismatch({{"store", "rediss://a"},
                      {"per_second_store", "redis://b?tls_verify=authority"}}),
            "per_second_store: tls_verify: needs a store with TLS, such as "
            "rediss://");
  EXPECT_EQ(mismatch({{"store", "redis://a"},
                      {"per_second_store", "rediss://b?tls_verify=authority"}}),
            "");
}

TEST(CheckOptions, AClusterHasOneDatabase) {
  Options options = with({{"store", "redis+cluster://a"}});
  EXPECT_TRUE(check_options(options).ok());
  options.redis_settings.login.db = 1;
  EXPECT_EQ(check_options(options).error().messages.at(0),
            "store: needs database 0 in a cluster");
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
