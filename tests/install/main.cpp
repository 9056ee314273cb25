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
  limiter.put("job", "{limits: [0, 1, 60]}", "jobs");
  limiter.put("job", "{limits: [1, 1, 60]}", "jobs", LIMITREE_REPLACE_ADDED);
  const std::array job = {limitree::to_str("job")};
  const bool put = limiter.authorize(job).remaining == 1;
  try {
    limiter.put("route", "{limits: [0, 1, 60]}", "jobs");
    return 1;
  } catch (const limitree::Error&) {
  }
  return first && !second && put ? 0 : 1;
}
