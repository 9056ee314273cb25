#include "tree/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace limitree {

namespace {

constexpr std::size_t kGroups = 8;  // of 16 bits, in an IPv6 address
// IPv4 in IPv6: ::ffff:0:0/96, and 64:ff9b::/96 behind a NAT64 (RFC 6052).
constexpr std::uint64_t kMapped = 0xffff;
constexpr std::uint64_t kNat64 = 0x0064'ff9b'0000'0000;

using Groups = std::array<std::uint16_t, kGroups>;

// Takes decimal digits up to 255 off the front of *text.
std::optional<std::uint32_t> take_octet(std::string_view* text) {
  std::uint32_t value = 0;
  std::size_t size = 0;
  while (size < text->size() && (*text)[size] >= '0' && (*text)[size] <= '9') {
    value = value * 10 + static_cast<std::uint32_t>((*text)[size] - '0');
    if (++size > 3) return std::nullopt;
  }
  const bool leading_zero = size > 1 && (*text)[0] == '0';
  if (size == 0 || leading_zero || value > 255) return std::nullopt;
  text->remove_prefix(size);
  return value;
}

std::optional<std::uint32_t> parse_v4(std::string_view text) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    if (i > 0) {
      if (!text.starts_with('.')) return std::nullopt;
      text.remove_prefix(1);
    }
    const std::optional<std::uint32_t> octet = take_octet(&text);
    if (!octet) return std::nullopt;
    value = value << 8 | *octet;
  }
  if (!text.empty()) return std::nullopt;
  return value;
}

std::optional<Groups> parse_v6(std::string_view text) {
  // The terminator, which inet_pton() needs, is not in the longest address.
  std::array<char, INET6_ADDRSTRLEN> copy{};
  if (text.size() >= copy.size() || text.find('\0') != text.npos) {
    return std::nullopt;
  }
  std::ranges::copy(text, copy.begin());
  std::array<std::uint8_t, 2 * kGroups> bytes;
  if (inet_pton(AF_INET6, copy.data(), bytes.data()) != 1) return std::nullopt;
  Groups groups;
  for (std::size_t i = 0; i < kGroups; ++i) {
    groups[i] =
        static_cast<std::uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  }
  return groups;
}

Address from_v4(std::uint32_t v4) {
  return {std::uint64_t{v4} << 32, 0, false};
}

std::uint64_t first_bits(int count) {
  return count == 0 ? 0 : ~std::uint64_t{0} << (64 - count);
}

std::uint16_t group_of(const Address& address, std::size_t i) {
  const std::uint64_t half = i < 4 ? address.high : address.low;
  return static_cast<std::uint16_t>(half >> (48 - 16 * (i % 4)));
}

// The longest run of at least two zero groups; of several the first.
struct Run {
  std::size_t first = kGroups;
  std::size_t size = 1;
};

Run longest_zeros(const Address& address) {
  Run best;
  for (std::size_t i = 0; i < kGroups;) {
    std::size_t end = i;
    while (end < kGroups && group_of(address, end) == 0) ++end;
    if (end - i > best.size) best = {i, end - i};
    i = end + 1;
  }
  return best;
}

}  // namespace

Address masked(const Address& address, int prefix) {
  const int high = prefix < 64 ? prefix : 64;
  const int low = prefix - high;
  return {address.high & first_bits(high), address.low & first_bits(low),
          address.v6};
}

std::optional<Address> parse_address(std::string_view text) {
  if (text.size() <= 15 && text.find(':') == std::string_view::npos) {
    const std::optional<std::uint32_t> v4 = parse_v4(text);
    if (!v4) return std::nullopt;
    return from_v4(*v4);
  }
  const std::size_t zone = text.find('%');
  if (zone != std::string_view::npos) {
    if (zone + 1 == text.size()) return std::nullopt;
    text = text.substr(0, zone);
  }
  const std::optional<Groups> groups = parse_v6(text);
  if (!groups) return std::nullopt;

  Address address{0, 0, true};
  for (std::size_t i = 0; i < 4; ++i) {
    address.high = address.high << 16 | (*groups)[i];
    address.low = address.low << 16 | (*groups)[i + 4];
  }
  const std::uint64_t middle = address.low >> 32;
  if ((address.high == 0 && middle == kMapped) ||
      (address.high == kNat64 && middle == 0)) {
    return from_v4(static_cast<std::uint32_t>(address.low));
  }
  return address;
}

AddressText::AddressText(const Address& address) {
  if (address.v6) {
    append_v6(address);
    return;
  }
  for (int shift = 56; shift >= 32; shift -= 8) {
    if (shift < 56) append('.');
    append_number(static_cast<unsigned>(address.high >> shift) & 255, 10);
  }
}

AddressText::AddressText(const Network& network)
    : AddressText(network.address) {
  append('/');
  append_number(static_cast<unsigned>(network.prefix), 10);
}

void AddressText::append_number(unsigned value, unsigned base) {
  char* const begin = text_.data() + size_;
  const auto [end, error] = std::to_chars(begin, text_.data() + text_.size(),
                                          value, static_cast<int>(base));
  size_ += static_cast<std::size_t>(end - begin);
}

void AddressText::append_v6(const Address& address) {
  const Run zeros = longest_zeros(address);
  for (std::size_t i = 0; i < kGroups;) {
    if (i == zeros.first) {
      append(':');
      append(':');
      i += zeros.size;
      continue;
    }
    if (i > 0 && i != zeros.first + zeros.size) append(':');
    append_number(group_of(address, i), 16);
    ++i;
  }
}

}  // namespace limitree
