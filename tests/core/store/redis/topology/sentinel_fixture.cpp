#include "core/store/redis/topology/sentinel_fixture.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/store/redis/await.hpp"

namespace limitree::redis {

namespace {

// The value of `name` in a list of names and values, one in each line.
std::string value_of(const std::string& name, const std::string& lines) {
  const std::size_t at = ("\n" + lines).find("\n" + name + "\n");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 1;
  return lines.substr(begin, lines.find('\n', begin) - begin);
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

SentinelFixture::SentinelFixture(SentinelFixtureOptions options)
    : options_(std::move(options)) {
  start_servers();
  start_sentinels();
}

void SentinelFixture::start_servers() {
  for (std::size_t i = 0; i < kServers; ++i) {
    RedisServerOptions options;
    options.config = {"repl-diskless-sync-delay 0",
                      "repl-ping-replica-period 1"};
    options.config.insert(options.config.end(), options_.config.begin(),
                          options_.config.end());
    if (!options_.password.empty()) {
      options.config.push_back("requirepass " + options_.password);
      options.config.push_back("masterauth " + options_.password);
    }
    if (i > 0) {
      options.config.push_back("replicaof 127.0.0.1 " +
                               std::to_string(servers_[0]->port()));
    }
    servers_[i] = std::make_unique<RedisServer>(std::move(options));
  }
  // The replicas must be there before the sentinels start: sentinels ask for
  // them at first, and then not again for a long time.
  await("two replicas", [this] {
    const std::string info = servers_[0]->cli({"INFO", "replication"});
    return says(info, "slave0:") && says(info, "slave1:") &&
           !says(info, "state=wait_bgsave") && !says(info, "state=send_bulk");
  });
}

void SentinelFixture::start_sentinels() {
  const std::string service = kService;
  for (std::unique_ptr<RedisServer>& sentinel : sentinels_) {
    RedisServerOptions options;
    options.sentinel = true;
    options.config = {
        "sentinel monitor " + service + " 127.0.0.1 " +
            std::to_string(servers_[0]->port()) + " 2",
        "sentinel down-after-milliseconds " + service + " 500",
        "sentinel failover-timeout " + service + " 3000",
    };
    if (!options_.password.empty()) {
      options.config.push_back("sentinel auth-pass " + service + " " +
                               options_.password);
    }
    if (!options_.sentinel_password.empty()) {
      options.config.push_back("requirepass " + options_.sentinel_password);
      options.config.push_back("sentinel sentinel-pass " +
                               options_.sentinel_password);
    }
    options.config.insert(options.config.end(),
                          options_.sentinel_config.begin(),
                          options_.sentinel_config.end());
    sentinel = std::make_unique<RedisServer>(std::move(options));
    // Where a machine stands still for two seconds, they would do nothing for
    // the next 30.  Redis 7.0 and later know this.
    sentinel->cli({"SENTINEL", "DEBUG", "tilt-trigger", "60000"});
  }
  for (const std::unique_ptr<RedisServer>& sentinel : sentinels_) {
    await("sentinels that know each other",
          [&] { return knows_everybody(*sentinel); });
  }
}

bool SentinelFixture::knows_everybody(const RedisServer& sentinel) const {
  const std::string state = sentinel.cli({"SENTINEL", "MASTER", kService});
  return value_of("flags", state) == "master" &&
         value_of("num-slaves", state) == std::to_string(kServers - 1) &&
         value_of("num-other-sentinels", state) ==
             std::to_string(kSentinels - 1);
}

std::string SentinelFixture::url() const {
  std::string url = "redis+sentinel://";
  if (!options_.password.empty()) url += ":" + options_.password + "@";
  for (const std::unique_ptr<RedisServer>& sentinel : sentinels_) {
    url += "127.0.0.1:" + std::to_string(sentinel->port()) + ",";
  }
  url.back() = '/';
  return url + kService;
}

// A server that becomes a replica closes every connection.
std::string SentinelFixture::role(int server) const {
  const auto i = static_cast<std::size_t>(server);
  if (servers_[i]->pid() == 0 || suspended_[i]) return "";
  try {
    const std::string text = servers_[i]->cli({"ROLE"});
    return text.substr(0, text.find('\n'));
  } catch (const std::runtime_error&) {
    return "";
  }
}

bool SentinelFixture::is_primary(int server) const {
  if (role(server) != "master") return false;
  const auto i = static_cast<std::size_t>(server);
  const std::string port = "\n" + std::to_string(servers_[i]->port());
  const auto votes = std::count_if(
      sentinels_.begin(), sentinels_.end(),
      [&](const std::unique_ptr<RedisServer>& sentinel) {
        return sentinel->pid() != 0 &&
               sentinel->cli({"SENTINEL", "get-master-addr-by-name", kService})
                   .ends_with(port);
      });
  return 2 * votes > kSentinels;
}

int SentinelFixture::primary() const {
  for (int i = 0; i < kServers; ++i) {
    if (is_primary(i)) return i;
  }
  return -1;
}

int SentinelFixture::await_primary(int old) const {
  int found = -1;
  try {
    await("another primary", [&] {
      found = primary();
      return found >= 0 && found != old;
    });
  } catch (const std::runtime_error& error) {
    std::string why = error.what();
    for (const std::unique_ptr<RedisServer>& sentinel : sentinels_) {
      why += "\n" + sentinel->log();
    }
    throw std::runtime_error(why);
  }
  return found;
}

void SentinelFixture::suspend(int server) {
  servers_.at(static_cast<std::size_t>(server))->suspend();
  suspended_.at(static_cast<std::size_t>(server)) = true;
}

void SentinelFixture::resume(int server) {
  suspended_.at(static_cast<std::size_t>(server)) = false;
  servers_.at(static_cast<std::size_t>(server))->resume();
}

}  // namespace limitree::redis
