#include "store/buckets/siphash.hpp"

#include "store/entropy.hpp"

namespace limitree {

const SipKey& SipKey::of_process() {
  static const SipKey key = {random_word(), random_word()};
  return key;
}

}  // namespace limitree
