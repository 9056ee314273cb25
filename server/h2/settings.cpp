#include "h2/settings.hpp"

#include <random>

namespace limitree::server {

Nanoseconds with_jitter(Nanoseconds age) {
  if (age == kNever) return age;
  thread_local std::minstd_rand random{std::random_device{}()};
  return age - age / 10 +
         std::uniform_int_distribution<Nanoseconds>(0, age / 5)(random);
}

}  // namespace limitree::server
