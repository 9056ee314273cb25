// Threads that each make one decision after another through Redis, as a C
// program would.  compare/callers_bench.py runs it beside its peers.
//
//   redis_callers URL THREADS SECONDS [OPTION=VALUE ...]
//
// Prints one line of JSON: decisions per second, latencies in microseconds, and
// the processor time of this process per decision, in microseconds.

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "limitree.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCallers = 1000;  // as many as the peers have

// No caller is denied.
constexpr char kYaml[] = R"(
schema:
  user:
    children:
      "*":
        limits: 1000000 per 1m
)";

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

[[noreturn]] void die(const limitree_error* error) {
  std::fprintf(stderr, "redis_callers: %s\n",
               error != nullptr ? limitree_error_message(error) : "failed");
  std::exit(1);
}

void set(limitree_config* config, std::string_view option,
         std::string_view value) {
  limitree_error* error = nullptr;
  if (limitree_config_set(config, std::string(option).c_str(), str(value),
                          &error) != LIMITREE_OK) {
    die(error);
  }
}

limitree_limiter* limiter_for(std::string_view url, char** settings,
                              int count) {
  limitree_config* const config = limitree_config_new();
  set(config, "store", url);
  set(config, "timeout", "5s");
  for (int i = 0; i < count; ++i) {
    const std::string_view setting = settings[i];
    const std::size_t split = std::min(setting.find('='), setting.size() - 1);
    set(config, setting.substr(0, split), setting.substr(split + 1));
  }
  limitree_error* error = nullptr;
  limitree_limiter* limiter = nullptr;
  if (limitree_config_set_limits(config, str(kYaml), str("bench"), &error) !=
          LIMITREE_OK ||
      limitree_limiter_new(config, &limiter, &error) != LIMITREE_OK) {
    die(error);
  }
  limitree_config_free(config);
  return limiter;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Decides for one caller after another until `stop`; returns the durations.
std::vector<float> decide(limitree_limiter* limiter, int thread,
                          const std::atomic<bool>& go,
                          const std::atomic<bool>& stop) {
  std::vector<std::string> names;
  for (int i = 0; i < kCallers; ++i) {
    names.push_back("caller" +
                    std::to_string((thread * 101 + i * 7) % kCallers));
  }
  std::vector<float> took;
  limitree_str path[] = {str("user"), {}};
  const auto call = [&](int i) {
    limitree_decision decision;
    limitree_error* error = nullptr;
    path[1] = str(names[static_cast<std::size_t>(i % kCallers)]);
    if (limitree_authorize(limiter, path, 2, 1, &decision, &error) !=
        LIMITREE_OK) {
      die(error);
    }
  };
  for (int i = 0; i < 10; ++i) call(i);
  while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i == 0 || !stop; ++i) {
    const Clock::time_point start = Clock::now();
    call(i);
    took.push_back(
        std::chrono::duration<float, std::micro>(Clock::now() - start).count());
  }
  return took;
}

void print(std::vector<float> us, double seconds, double processor) {
  std::sort(us.begin(), us.end());
  const auto count = static_cast<double>(us.size());
  const auto at = [&](double part) {
    return static_cast<double>(us[static_cast<std::size_t>(
        part * static_cast<double>(us.size() - 1))]);
  };
  std::printf(
      "{\"ops\": %.1f, \"p50\": %.2f, \"p99\": %.2f, \"max\": %.0f, "
      "\"cpu\": %.2f}\n",
      count / seconds, at(0.5), at(0.99), at(1), processor * 1e6 / count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: redis_callers URL THREADS SECONDS [OPTION=VALUE]\n");
    return 2;
  }
  const int threads = std::atoi(argv[2]);
  limitree_limiter* const limiter = limiter_for(argv[1], argv + 4, argc - 4);
  std::vector<std::vector<float>> found(static_cast<std::size_t>(threads));
  std::atomic<bool> go = false;
  std::atomic<bool> stop = false;
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      found[static_cast<std::size_t>(thread)] =
          decide(limiter, thread, go, stop);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double before = processor_seconds();
  const Clock::time_point start = Clock::now();
  go = true;
  std::this_thread::sleep_for(
      std::chrono::duration<double>(std::atof(argv[3])));
  stop = true;
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double> took = Clock::now() - start;
  const double processor = processor_seconds() - before;
  std::vector<float> all;
  for (const std::vector<float>& one : found) {
    all.insert(all.end(), one.begin(), one.end());
  }
  if (all.empty()) return 1;
  print(std::move(all), took.count(), processor);
  limitree_limiter_free(limiter);
}
