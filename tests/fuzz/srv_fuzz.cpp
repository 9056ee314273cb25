// What a name server might answer when it is asked for SRV records.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/dns_name.hpp"
#include "io/srv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  limitree::SrvList list;
  if (!limitree::read_srv({data, size}, &list).empty()) return 0;
  if (list.servers.empty()) std::abort();
  if (list.servers.size() > limitree::SrvList::kMaxServers) std::abort();
  for (const limitree::Endpoint& one : list.servers) {
    if (one.port == 0 || !limitree::is_dns_name(one.host)) std::abort();
  }
  return 0;
}
