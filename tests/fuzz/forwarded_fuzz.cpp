// Headers that nobody thought of, behind proxies that are trusted.
//
// The first byte chooses the syntax and the trusted proxies, the first line is
// the peer, the others are lines of the header.  Whatever they say: a client is
// an address with one text; what a proxy adds on the right decides, and nothing
// that stands to the left of an untrusted address changes the answer.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/forwarded.hpp"

namespace {

using limitree::AddressText;
using limitree::ForwardedSyntax;
using limitree::Proxies;
using Lines = std::vector<std::string_view>;

void require(bool fact) {
  if (!fact) std::abort();
}

Lines split(std::string_view text) {
  Lines lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

void check_client(const Proxies::Client& client) {
  const std::string text(AddressText(client.address).view());
  const auto again = limitree::parse_endpoint(text);
  require(again && *again == client.address);
  require(client.believed >= 0);
}

// The proxy at 10.0.0.1 saw the client, whatever that had sent.
void check_appended(std::string_view sent, ForwardedSyntax syntax) {
  const Lines trusted = {"10.0.0.1"};
  auto proxies = Proxies::make(0, trusted, syntax, 128);
  std::string line(sent);
  line +=
      syntax == ForwardedSyntax::kList ? ", 203.0.113.5" : ", for=203.0.113.5";
  const Lines lines = {line};
  const auto client = proxies.value().client("10.0.0.1", lines);
  require(client && client->believed == 1);
  require(AddressText(client->address).view() == "203.0.113.5");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const auto syntax = static_cast<ForwardedSyntax>(data[0] & 1);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  Lines lines = split(text);
  const std::string_view peer = lines.front();
  lines.erase(lines.begin());

  // By hops, by everything, by what the input names itself.
  const Lines everything = {"0.0.0.0/0", "::/0", "unix"};
  const int hops = data[0] >> 4;
  const bool by_hops = (data[0] & 2) != 0;
  auto proxies = by_hops ? Proxies::make(hops, {}, syntax, 64)
                         : Proxies::make(0, everything, syntax, 64);
  const auto client = proxies.value().client(peer, lines);
  if (client) check_client(*client);
  if (client && by_hops) require(client->believed <= hops);
  if (!client) require(!limitree::parse_endpoint(peer));
  auto own = Proxies::make(0, lines, syntax, 128);
  if (own.ok()) static_cast<void>(own.value().client(peer, lines));
  for (const std::string_view line : lines) check_appended(line, syntax);
  return 0;
}
