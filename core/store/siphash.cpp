#include "store/siphash.hpp"

#include <random>

namespace limitree {

const SipKey& SipKey::of_process() {
  static const SipKey key = [] {
    std::random_device device;  // getrandom(2) or its like
    const auto word = [&device] {
      return std::uint64_t{device()} << 32 | device();
    };
    return SipKey{word(), word()};
  }();
  return key;
}

}  // namespace limitree
