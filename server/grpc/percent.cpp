#include "grpc/percent.hpp"

namespace limitree::server {

std::string percent_encode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char byte : text) {
    if (byte >= ' ' && byte <= '~' && byte != '%') {
      encoded += byte;
      continue;
    }
    const auto value = static_cast<unsigned char>(byte);
    encoded += '%';
    encoded += kDigits[value >> 4];
    encoded += kDigits[value & 15];
  }
  return encoded;
}

}  // namespace limitree::server
