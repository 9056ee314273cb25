// Addresses of clients, and limitree_proxies: which proxies are trusted.

#include "tree/address.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/inline_vector.hpp"
#include "handles.hpp"
#include "text/problems.hpp"
#include "tree/forwarded.hpp"

using namespace limitree;
using namespace limitree::capi;

static_assert(sizeof(limitree_ip) == 64);

namespace limitree::capi {
static_assert(same(LIMITREE_X_FORWARDED_FOR, ForwardedSyntax::kList));
static_assert(same(LIMITREE_FORWARDED, ForwardedSyntax::kForwarded));
}  // namespace limitree::capi

struct limitree_proxies {
  const Proxies proxies;
};

namespace {

using Texts = InlineVector<std::string_view, 8>;

void read_texts(const limitree_str* data, std::size_t size, const char* name,
                const char* name_of_text, Texts* texts) {
  require(size == 0 || data != nullptr, name);
  for (const limitree_str text : std::span(data, size)) {
    require(text, name_of_text);
    texts->push_back(view(text));
  }
}

Status no_address(std::string_view what, std::string_view text) {
  // A header can be long; its beginning is enough for a message.
  constexpr std::size_t kShown = 60;
  return Status(Code::kInvalidArgument, std::string(what) +
                                            quote(text.substr(0, kShown)) +
                                            " is not an IP address");
}

void fill_ip(const Address& address, std::int32_t believed, limitree_ip* ip) {
  const AddressText text(address);
  *ip = {};
  static_assert(sizeof ip->text > 47);
  std::ranges::copy(text.view(), ip->text);
  ip->size = static_cast<std::int32_t>(text.view().size());
  ip->version = address.v6 ? 6 : 4;
  ip->believed = believed;
}

}  // namespace

limitree_status limitree_canonical_ip(limitree_str address, int32_t ipv6_prefix,
                                      limitree_ip* ip, limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(ip, "ip", address, "address.data");
    Status status = check_ipv6_prefix(ipv6_prefix);
    if (!status.ok()) return status;
    const auto parsed = parse_endpoint(view(address));
    if (!parsed) return no_address("", view(address));
    fill_ip(grouped(*parsed, ipv6_prefix), 0, ip);
    return {};
  });
}

limitree_status limitree_proxies_new(int32_t header, int32_t trusted_hops,
                                     const limitree_str* trusted,
                                     size_t trusted_count, int32_t ipv6_prefix,
                                     limitree_proxies** proxies,
                                     limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(proxies, "proxies");
    if (header != LIMITREE_X_FORWARDED_FOR && header != LIMITREE_FORWARDED) {
      return Status(Code::kInvalidArgument,
                    "no header " + std::to_string(header));
    }
    Texts networks;
    read_texts(trusted, trusted_count, "trusted", "trusted.data", &networks);
    Result<Proxies> made =
        Proxies::make(trusted_hops, {networks.data(), networks.size()},
                      static_cast<ForwardedSyntax>(header), ipv6_prefix);
    if (!made.ok()) return std::move(made.status());
    *proxies = new limitree_proxies{std::move(made.value())};
    return {};
  });
}

void limitree_proxies_free(limitree_proxies* proxies) { delete proxies; }

limitree_status limitree_client_ip(const limitree_proxies* proxies,
                                   limitree_str peer, const limitree_str* lines,
                                   size_t line_count, limitree_ip* ip,
                                   limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(proxies, "proxies", ip, "ip", peer, "peer.data");
    const std::string_view text = view(peer);
    Texts values;
    read_texts(lines, line_count, "lines", "lines.data", &values);
    const auto client =
        proxies->proxies.client(text, {values.data(), values.size()});
    if (!client && text.empty()) {
      return Status(Code::kInvalidArgument,
                    "the peer has no address, and nobody who is trusted names "
                    "the client");
    }
    if (!client) return no_address("the peer ", text);
    fill_ip(client->address, client->believed, ip);
    return {};
  });
}
