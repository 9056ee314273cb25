#include <gtest/gtest.h>

#include "limitree.hpp"
#include "server/config/read_variables.hpp"

namespace limitree::server {
namespace {

// The variables and BACKEND_TYPE.
Variables with_memcache(Variables all) {
  all["BACKEND_TYPE"] = "memcache";
  return all;
}

std::string memcache_url(const Variables& all) {
  return good(with_memcache(all)).store.url;
}

TEST(MemcacheVariables, MakeTheUrlOfTheStore) {
  EXPECT_EQ(memcache_url({{"MEMCACHE_HOST_PORT", "a:11211"}}),
            "memcached://a:11211");
  EXPECT_EQ(memcache_url({{"MEMCACHE_HOST_PORT", "a:1, [::1]:2,c"}}),
            "memcached://a:1,[::1]:2,c");
  EXPECT_EQ(
      memcache_url({{"MEMCACHE_HOST_PORT", "a:1"}, {"MEMCACHE_TLS", "true"}}),
      "memcacheds://a:1");
  EXPECT_EQ(memcache_url({{"MEMCACHE_HOST_PORT", "/run/memcached.sock"}}),
            "memcached+unix:///run/memcached.sock");
  const char* const name = "_memcache._tcp.cache.svc.cluster.local";
  EXPECT_EQ(memcache_url({{"MEMCACHE_SRV", name}}),
            std::string("memcached+srv://") + name);
  EXPECT_EQ(memcache_url({{"MEMCACHE_SRV", name}, {"MEMCACHE_TLS", "1"}}),
            std::string("memcacheds+srv://") + name);
}

TEST(MemcacheVariables, SayHowOftenServersAreLookedUp) {
  const auto url = [](const char* refresh) {
    return memcache_url(
        {{"MEMCACHE_SRV", "_m._tcp.x"}, {"MEMCACHE_SRV_REFRESH", refresh}});
  };
  EXPECT_EQ(url("0"), "memcached+srv://_m._tcp.x");
  EXPECT_EQ(url("90s"), "memcached+srv://_m._tcp.x?refresh=90");
  EXPECT_EQ(url("100ms"), "memcached+srv://_m._tcp.x?refresh=1");
  EXPECT_EQ(url("1000h"), "memcached+srv://_m._tcp.x?refresh=86400");
}

TEST(MemcacheVariables, MakeUrlsAndOptionsThatTheLibraryTakes) {
  const ServeSettings settings =
      good(with_memcache({{"MEMCACHE_SRV", "_m._tcp.x"},
                          {"MEMCACHE_SRV_REFRESH", "1m"},
                          {"MEMCACHE_TLS", "true"},
                          {"MEMCACHE_TLS_CACERT", "ca"},
                          {"MEMCACHE_TLS_CLIENT_CERT", "c"},
                          {"MEMCACHE_TLS_CLIENT_KEY", "k"},
                          {"MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION", "true"},
                          {"CACHE_KEY_PREFIX", "x:"}}));
  EXPECT_EQ(settings.store.options, (Pairs{{"tls_ca_file", "ca"},
                                           {"tls_cert_file", "c"},
                                           {"tls_key_file", "k"},
                                           {"tls_verify", "authority"},
                                           {"prefix", "x:"}}));
  Config config;
  config.set("store", settings.store.url);
  for (const auto& [name, value] : settings.store.options) {
    config.set(name, value);
  }
}

TEST(MemcacheVariables, MustNotContradictEachOther) {
  EXPECT_EQ(error(with_memcache({})),
            "MEMCACHE_HOST_PORT: or MEMCACHE_SRV is needed, because "
            "BACKEND_TYPE is memcache");
  EXPECT_EQ(error(with_memcache({{"MEMCACHE_HOST_PORT", "a:1"},
                                 {"MEMCACHE_SRV", "_m._tcp.x"}})),
            "MEMCACHE_SRV: and MEMCACHE_HOST_PORT exclude each other");
  EXPECT_EQ(error(with_memcache({{"MEMCACHE_HOST_PORT", "/a,b:1"}})),
            "MEMCACHE_HOST_PORT: a Unix socket must be the only server");
  EXPECT_EQ(error(with_memcache(
                {{"MEMCACHE_HOST_PORT", "/a"}, {"MEMCACHE_TLS", "true"}})),
            "MEMCACHE_TLS: is not possible on a Unix socket");
  EXPECT_EQ(error(with_memcache({{"MEMCACHE_HOST_PORT", "a:99999"}})),
            "MEMCACHE_HOST_PORT: port must be 1 to 65535, is \"99999\"");
  EXPECT_EQ(error(with_memcache({{"MEMCACHE_SRV", "cache.example.org"}})),
            "MEMCACHE_SRV: a name must follow, as in "
            "memcached+srv://_memcached._tcp.example.org");
  EXPECT_EQ(error(with_memcache({{"MEMCACHE_SRV", "_m._tcp.x"},
                                 {"MEMCACHE_SRV_REFRESH", "often"}})),
            "MEMCACHE_SRV_REFRESH: must be a duration such as 10s or 1h30m, is "
            "'often'");
}

TEST(MemcacheVariables, AreWarnedAboutIfTheyHaveNoEffect) {
  EXPECT_EQ(warning({{"MEMCACHE_HOST_PORT", "a:1"}}),
            "MEMCACHE_HOST_PORT: no effect without BACKEND_TYPE=memcache");
  EXPECT_EQ(warning(with_memcache({{"MEMCACHE_HOST_PORT", "a:1"},
                                   {"MEMCACHE_SRV_REFRESH", "1m"}})),
            "MEMCACHE_SRV_REFRESH: no effect without MEMCACHE_SRV");
  EXPECT_EQ(warning(with_memcache({{"MEMCACHE_HOST_PORT", "a:1"},
                                   {"MEMCACHE_MAX_IDLE_CONNS", "9"}})),
            "no effect: MEMCACHE_MAX_IDLE_CONNS");
  EXPECT_EQ(warning(with_memcache({{"MEMCACHE_HOST_PORT", "a:1"},
                                   {"MEMCACHE_TLS_CACERT", "ca"},
                                   {"MEMCACHE_TLS_CLIENT_KEY", "k"}})),
            "MEMCACHE_TLS_CACERT, MEMCACHE_TLS_CLIENT_KEY: no effect without "
            "MEMCACHE_TLS");
}

}  // namespace
}  // namespace limitree::server
