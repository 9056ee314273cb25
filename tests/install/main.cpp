// The same for C++: limitree.hpp, which needs nothing but limitree.h.

#include <array>
#include <cstdio>
#include <limitree.hpp>

int main() {
  limitree::Config config;
  config.set_limits("schema: {route: {limits: [0, 1, 60]}}", "limits.yaml");
  limitree::Limiter limiter(config);
  const std::array path = {limitree::to_str("route")};
  const bool first = limiter.authorize(path).allowed();
  const bool second = limiter.authorize(path).allowed();
  std::printf("limitree.hpp: allowed %d, then %d\n", first, second);
  return first && !second ? 0 : 1;
}
