// Files of Boulder that nobody thought of.
//
// The input is the defaults and, after a zero byte, the overrides.  They are
// refused with messages of one line each, or come to a limits.yaml that loads.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.hpp"
#include "text/number.hpp"
#include "tree/boulder.hpp"

namespace {

using limitree::Result;
using limitree::Tree;

void require(bool fact) {
  if (!fact) std::abort();
}

void check_message(std::string_view message) {
  require(message.starts_with("d:") || message.starts_with("o:"));
  for (std::size_t i = 0; i < message.size();) {
    const std::size_t size = limitree::utf8_size(message.substr(i));
    require(size > 0 && static_cast<unsigned char>(message[i]) >= 0x20);
    i += size;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto duration = limitree::parse_go_duration(text);
  require(!duration || *duration >= limitree::Duration::zero());

  const std::size_t zero = text.find('\0');
  const std::string_view defaults = text.substr(0, zero);
  const std::string_view overrides =
      zero == text.npos ? std::string_view() : text.substr(zero + 1);
  Result<std::string> yaml =
      limitree::limits_from_boulder({defaults, "d"}, {overrides, "o"});
  if (yaml.ok()) {
    require(limitree::load_tree(yaml.value(), "f").ok());
    return 0;
  }
  for (const std::string& message : yaml.status().error().messages) {
    check_message(message);
  }
  return 0;
}
