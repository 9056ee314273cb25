#include "config/memcache_variables.hpp"

#include <algorithm>
#include <string>

#include "config/option_values.hpp"

namespace limitree::server {

namespace {

constexpr const char* kHosts = "MEMCACHE_HOST_PORT";
constexpr const char* kSrv = "MEMCACHE_SRV";
constexpr const char* kRefresh = "MEMCACHE_SRV_REFRESH";
constexpr const char* kTls = "MEMCACHE_TLS";
constexpr Duration kMostRefresh = 86'400 * kOneSecond;

class MemcacheReader {
 public:
  MemcacheReader(EnvironmentReader* reader, StoreSettings* store)
      : reader_(*reader), store_(*store), tls_(reader_.is_on(kTls)) {}

  void read() {
    const std::size_t mistakes = reader_.report().errors.size();
    const auto hosts = reader_.text(kHosts);
    const auto srv = reader_.text(kSrv);
    if (hosts && srv) {
      reader_.fail(kSrv, "and MEMCACHE_HOST_PORT exclude each other");
    } else if (srv) {
      read_srv(*srv);
    } else if (hosts) {
      read_hosts(*hosts);
    } else {
      reader_.fail(kHosts,
                   "or MEMCACHE_SRV is needed, because BACKEND_TYPE is "
                   "memcache");
    }
    if (!srv && reader_.has(kRefresh)) {
      reader_.warn(std::string(kRefresh) + ": no effect without MEMCACHE_SRV");
    }
    if (reader_.report().errors.size() == mistakes) {
      Pairs unused;
      reader_.add_option(srv ? kSrv : kHosts, "store", store_.url, &unused);
    }
    if (tls_) read_tls();
    copy("CACHE_KEY_PREFIX", "prefix");
  }

 private:
  void read_srv(const std::string& name) {
    store_.url = scheme("+srv") + name;
    Duration refresh{};
    // In envoyproxy/ratelimit, 0 means never.  Here the answer itself says how
    // long it is good for.
    if (reader_.set(kRefresh, &refresh) && refresh > Duration::zero()) {
      const Duration used = std::clamp(refresh, kOneSecond, kMostRefresh);
      store_.url += "?refresh=" + std::to_string(used / kOneSecond);
    }
  }

  void read_hosts(std::string hosts) {
    std::erase(hosts, ' ');
    if (hosts.find('/') == hosts.npos) {
      store_.url = scheme("") + hosts;
      return;
    }
    if (hosts.find(',') != hosts.npos) {
      reader_.fail(kHosts, "a Unix socket must be the only server");
    }
    if (tls_) reader_.fail(kTls, "is not possible on a Unix socket");
    store_.url = "memcached+unix://" + hosts;
  }

  void read_tls() {
    copy("MEMCACHE_TLS_CACERT", "tls_ca_file");
    copy("MEMCACHE_TLS_CLIENT_CERT", "tls_cert_file");
    copy("MEMCACHE_TLS_CLIENT_KEY", "tls_key_file");
    constexpr const char* kSkip = "MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION";
    if (reader_.is_on(kSkip)) {
      reader_.add_option(kSkip, "tls_verify", "authority", &store_.options);
    }
  }

  std::string scheme(const char* form) const {
    return (tls_ ? "memcacheds" : "memcached") + std::string(form) + "://";
  }
  void copy(const char* name, const char* option) {
    if (const auto text = reader_.text(name)) {
      reader_.add_option(name, option, *text, &store_.options);
    }
  }

  EnvironmentReader& reader_;
  StoreSettings& store_;
  const bool tls_;
};

}  // namespace

void read_memcache(EnvironmentReader* reader, bool wanted,
                   StoreSettings* store) {
  if (wanted) return MemcacheReader(reader, store).read();
  for (const std::string& name : split(kMemcacheVariables, ' ')) {
    if (reader->has(name)) {
      reader->warn(name + ": no effect without BACKEND_TYPE=memcache");
    }
  }
}

}  // namespace limitree::server
