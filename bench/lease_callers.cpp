// A process that asks for one caller or many, as a C program would.  leases.py
// runs several of them.
//
//   lease_callers URL LIMITS CALLERS open RATE SECONDS SEED FILE
//   lease_callers URL LIMITS CALLERS closed REQUESTS
//
// LIMITS is a limits.yaml whose top-level name is c; paths are {"c", "0"} ...
// open: requests come at random, RATE of them per second, whatever the answers
// are.  FILE gets three int64 for each: the monotonic clock in nanoseconds
// before and after it, and whether it was allowed.
// closed: one request after the other, each of the next caller.  Prints the
// nanoseconds that a request took, of the fastest tenth of a run.

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.h"

namespace {

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

[[noreturn]] void die(const limitree_error* error) {
  std::fprintf(stderr, "lease_callers: %s\n",
               error != nullptr ? limitree_error_message(error) : "failed");
  std::exit(1);
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void sleep_until(std::int64_t at_ns) {
  const timespec at{static_cast<time_t>(at_ns / 1'000'000'000),
                    static_cast<long>(at_ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

class Callers {
 public:
  Callers(std::string_view url, std::string_view limits, int count) {
    limitree_config* const config = limitree_config_new();
    limitree_error* error = nullptr;
    if (limitree_config_set(config, "store", str(url), &error) != LIMITREE_OK ||
        limitree_config_set(config, "timeout", str("10s"), &error) !=
            LIMITREE_OK ||
        limitree_config_set_limits(config, str(limits), str("bench"), &error) !=
            LIMITREE_OK ||
        limitree_limiter_new(config, &limiter_, &error) != LIMITREE_OK) {
      die(error);
    }
    limitree_config_free(config);
    for (int i = 0; i < count; ++i) names_.push_back(std::to_string(i));
  }
  ~Callers() { limitree_limiter_free(limiter_); }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  std::size_t count() const { return names_.size(); }

  bool ask(std::size_t caller) {
    const limitree_str path[] = {str("c"), str(names_[caller])};
    limitree_decision decision;
    limitree_error* error = nullptr;
    if (limitree_authorize(limiter_, path, 2, 1, &decision, &error) !=
        LIMITREE_OK) {
      die(error);
    }
    return decision.limited == 0;
  }

 private:
  limitree_limiter* limiter_ = nullptr;
  std::vector<std::string> names_;
};

void ask_at_random(Callers* callers, double rate, double seconds, unsigned seed,
                   const char* file) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(rate / 1e9);
  std::vector<std::array<std::int64_t, 3>> asked;
  // All processes begin at the same instant: the next whole second.
  const std::int64_t start = (now_ns() / 1'000'000'000 + 2) * 1'000'000'000;
  const std::int64_t end = start + static_cast<std::int64_t>(seconds * 1e9);
  double next = static_cast<double>(start) + gap(random);
  while (next < static_cast<double>(end)) {
    const auto at = static_cast<std::int64_t>(next);
    if (now_ns() < at) sleep_until(at);
    const std::int64_t before = now_ns();
    const bool allowed = callers->ask(random() % callers->count());
    asked.push_back({before, now_ns(), allowed ? 1 : 0});
    next += gap(random);
  }
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(asked.data()),
            static_cast<std::streamsize>(asked.size() * sizeof asked[0]));
  if (!out) die(nullptr);
}

// The fastest tenth has the fewest interruptions.
void ask_in_turn(Callers* callers, std::int64_t requests) {
  constexpr std::int64_t kParts = 10;
  std::vector<double> took;
  std::size_t caller = 0;
  for (std::int64_t part = 0; part < kParts; ++part) {
    const std::int64_t start = now_ns();
    for (std::int64_t i = 0; i < requests / kParts; ++i) {
      callers->ask(caller);
      if (++caller == callers->count()) caller = 0;
    }
    took.push_back(static_cast<double>(now_ns() - start) /
                   static_cast<double>(requests / kParts));
  }
  std::printf("%.1f\n", *std::min_element(took.begin(), took.end()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: lease_callers URL LIMITS CALLERS open RATE SECONDS "
                 "SEED FILE\n       ... closed REQUESTS\n");
    return 2;
  }
  Callers callers(argv[1], argv[2], std::atoi(argv[3]));
  if (argc == 9 && argv[4] == std::string_view("open")) {
    ask_at_random(&callers, std::atof(argv[5]), std::atof(argv[6]),
                  static_cast<unsigned>(std::atoi(argv[7])), argv[8]);
  } else {
    ask_in_turn(&callers, std::max(10LL, std::atoll(argv[5])));
  }
}
