#include "store/siphash.hpp"

#include "store/entropy.hpp"

namespace limitree {

const SipKey& SipKey::of_process() {
  static const SipKey key = {random_word(), random_word()};
  return key;
}

std::uint64_t keyed_hash(std::string_view text) {
  static const SipHash seed(SipKey::of_process());
  SipHash state = seed;
  state.absorb(text, 0);
  return state.finish();
}

}  // namespace limitree
