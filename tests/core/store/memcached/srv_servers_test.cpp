// A store whose servers are named by SRV records.

#include <gtest/gtest.h>

#include <mutex>
#include <string>

#include "core/store/memcached/asking.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/await.hpp"
#include "io/name_server.hpp"
#include "store/memcached/memcached_store.hpp"

namespace limitree::memcached {
namespace {

constexpr const char* kSrvName = "_memcached._tcp.example.test";

// Either driver.
class SrvServersOfStore : public testing::TestWithParam<bool> {
 protected:
  void say(std::vector<DnsRecord> records, int code = 0) {
    const std::lock_guard lock(mutex_);
    answer_ = {std::move(records), code};
  }
  static DnsRecord record(const MemcachedServer& server) {
    return srv_record(0, 0, server.port(), "localhost");
  }
  static Settings settings(const std::string& query = "") {
    return store_settings(std::string("memcached+srv://") + kSrvName + query);
  }

 private:
  std::mutex mutex_;
  DnsAnswer answer_{{}, 3};
  NameServer names_{[this](const std::string& /*name*/) {
    const std::lock_guard lock(mutex_);
    return answer_;
  }};
};

TEST_P(SrvServersOfStore, AreFoundByTheFirstRequest) {
  const MemcachedServer first;
  const MemcachedServer second;
  say({record(first), record(second)});
  MemcachedStore store(settings(), Clock());
  Asker asker(&store, GetParam());
  const Limit limit = limit_of(1);
  for (int i = 0; i < 32; ++i) {
    ASSERT_EQ(asker.reason("caller" + std::to_string(i), limit), "ok");
  }
  for (const MemcachedServer* const server : {&first, &second}) {
    EXPECT_EQ(server->ask("stats\r\n", "END\r\n").find("curr_items 0\r"),
              std::string::npos);
  }
}

TEST_P(SrvServersOfStore, APingLooksThemUp) {
  const MemcachedServer server;
  say({record(server)});
  MemcachedStore store(settings(), Clock());
  EXPECT_TRUE(store.ping().ok());
}

TEST_P(SrvServersOfStore, ANameThatIsUnknownIsAnError) {
  MemcachedStore store(settings(), Clock());
  Asker asker(&store, GetParam());
  const Status status = asker.ask({"alex"}, limit_of(1));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kStoreUnavailable);
  EXPECT_EQ(status.error().reason, std::string("resolve"));
  EXPECT_EQ(status.error().messages.front(),
            "memcached: '_memcached._tcp.example.test': name or service not "
            "known");
  EXPECT_EQ(store.ping().code(), Code::kStoreUnavailable);
}

TEST_P(SrvServersOfStore, ANameServerThatIsSilentCostsTheTimeOfARequest) {
  say({}, -1);
  Settings short_settings = settings();
  short_settings.timeout = std::chrono::seconds(1);
  MemcachedStore store(short_settings, Clock());
  Asker asker(&store, GetParam());
  EXPECT_EQ(asker.reason("alex", limit_of(1)), "resolve");
}

TEST_P(SrvServersOfStore, AreFollowed) {
  MemcachedServer first;
  const MemcachedServer second;
  say({record(first)});
  MemcachedStore store(settings("?refresh=1"), Clock());
  Asker asker(&store, GetParam());
  const Limit limit = limit_of(1'000'000);
  ASSERT_EQ(asker.reason("alex", limit), "ok");
  first.kill();
  EXPECT_NE(asker.reason("alex", limit), "ok");
  say({record(second)});
  await("the second server",
        [&] { return asker.reason("alex", limit) == "ok"; });
}

INSTANTIATE_TEST_SUITE_P(Drivers, SrvServersOfStore, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& by_loop) {
                           return by_loop.param ? "Loop" : "Blocking";
                         });

}  // namespace
}  // namespace limitree::memcached
