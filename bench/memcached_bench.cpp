// What decisions through memcached cost, compared with one `get` of
// libmemcached and with the same decisions through Redis.  All use their own
// private server, one after another, several times.
//
// Usage: memcached_bench [seconds of each measurement [threads]]

#include <libmemcached/memcached.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/store_settings.hpp"
#include "store/memcached/memcached_store.hpp"
#include "store/redis/redis_store.hpp"

namespace limitree {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr int kRounds = 5;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "memcached_bench: %s\n", what);
  std::exit(1);
}

struct Figures {
  double per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
  double client_us = 0;  // of processor time, for each call
  double server_us = 0;  // the same
};

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The processor time of all threads of a process.
double seconds_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // Fields 14 and 15; the second, a name in brackets, may have blanks.
  std::size_t at = text.rfind(')') + 2;
  for (int field = 3; field < 14; ++field) at = text.find(' ', at) + 1;
  char* rest = nullptr;
  const double user = std::strtod(text.c_str() + at, &rest);
  const double system = std::strtod(rest, nullptr);
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

using Call = std::function<void(int number)>;

// Lets threads call for a while; make(thread) returns what one of them calls
// again and again.
Figures measure(pid_t server, int threads, double seconds,
                const std::function<Call(int thread)>& make) {
  std::vector<std::vector<float>> samples(static_cast<std::size_t>(threads));
  std::atomic<bool> go = false;
  std::atomic<bool> stop = false;
  std::atomic<int> ready = 0;
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      const Call call = make(thread);
      for (int i = 0; i < 10; ++i) call(i);
      ++ready;
      while (!go) std::this_thread::yield();
      for (int i = 0; !stop; ++i) {
        const auto start = SteadyTime::now();
        call(i);
        samples[static_cast<std::size_t>(thread)].push_back(
            std::chrono::duration<float, std::micro>(SteadyTime::now() - start)
                .count());
      }
    });
  }
  while (ready < threads) std::this_thread::yield();
  const double own = own_seconds();
  const double servers = seconds_of(server);
  const auto start = SteadyTime::now();
  go = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : running) thread.join();
  const double took =
      std::chrono::duration<double>(SteadyTime::now() - start).count();
  std::vector<float> all;
  for (const auto& one : samples) all.insert(all.end(), one.begin(), one.end());
  require(!all.empty(), "no call has ended");
  std::sort(all.begin(), all.end());
  const auto count = static_cast<double>(all.size());
  return {count / took, all[all.size() / 2], all[all.size() * 99 / 100],
          (own_seconds() - own) * 1e6 / count,
          (seconds_of(server) - servers) * 1e6 / count};
}

// ---- what is called ---------------------------------------------------------

// As long as an item of ours with two buckets.
const std::string kKey = "limitree:{user:1}";
const std::string kValue(40, 'x');

Call libmemcached_get(int port) {
  const std::shared_ptr<memcached_st> client(memcached_create(nullptr),
                                             memcached_free);
  memcached_behavior_set(client.get(), MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
  memcached_server_add(client.get(), "127.0.0.1", static_cast<in_port_t>(port));
  require(memcached_set(client.get(), kKey.data(), kKey.size(), kValue.data(),
                        kValue.size(), 0, 0) == MEMCACHED_SUCCESS,
          "libmemcached cannot set");
  return [client](int) {
    std::size_t size = 0;
    std::uint32_t flags = 0;
    memcached_return_t status{};
    char* const value = memcached_get(client.get(), kKey.data(), kKey.size(),
                                      &size, &flags, &status);
    require(status == MEMCACHED_SUCCESS && size == kValue.size(),
            "libmemcached cannot get");
    std::free(value);
  };
}

// Two levels of one caller; each thread has a hundred of them.
Call decisions(Store* store, const Limit* limit, int thread, bool limited) {
  return [=](int number) {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back(
        std::to_string(thread) + "-" + std::to_string(number % 100),
        Segment::Kind::kCaller);
    plan.segments.emplace_back("trade", Segment::Kind::kExact);
    plan.add_level(limit, 0u, 1u, 1);
    plan.add_level(limit, 0u, 2u, 1);
    require(store->decide(&plan).ok(), "no decision");
    require(!limited || number < 100 || plan.levels[0].verdict.limited,
            "admitted above the limit");
  };
}

Limit limit_of(Duration interval, std::int64_t capacity) {
  Limit limit;
  limit.rate = {interval, capacity};
  return limit;
}

void print(const char* name, const std::vector<Figures>& rounds,
           const Figures& base) {
  Figures of{};
  for (double Figures::*const field :
       {&Figures::per_second, &Figures::p50_us, &Figures::p99_us,
        &Figures::client_us, &Figures::server_us}) {
    std::vector<double> values;
    for (const Figures& one : rounds) values.push_back(one.*field);
    std::sort(values.begin(), values.end());
    of.*field = values[values.size() / 2];
  }
  const double p50 = base.p50_us > 0 ? base.p50_us : of.p50_us;
  std::printf(
      "%-26s %8.0f/s  p50 %7.1f us (%.2fx)  p99 %8.1f us  cpu %6.2f + %6.2f "
      "us\n",
      name, of.per_second, of.p50_us, of.p50_us / p50, of.p99_us, of.client_us,
      of.server_us);
  std::fflush(stdout);
}

void run(double seconds, int threads) {
  const memcached::MemcachedServer cache;
  const redis::RedisServer redis;
  memcached::MemcachedStore cached(
      memcached::store_settings("memcached://" + cache.host()), Clock());
  redis::RedisStore shared(redis::store_settings("redis://127.0.0.1:" +
                                                 std::to_string(redis.port())),
                           std::nullopt);
  const Limit wide = limit_of(Duration(1000), 1'000'000'000);
  const Limit narrow = limit_of(std::chrono::hours(24), 1);
  std::vector<Figures> get;
  std::vector<Figures> admitted;
  std::vector<Figures> denied;
  std::vector<Figures> by_redis;
  std::vector<Figures> denied_by_redis;
  for (int round = 0; round < kRounds; ++round) {
    const auto decide = [&](Store* store, pid_t server, const Limit* limit) {
      return measure(server, threads, seconds, [=](int thread) {
        return decisions(store, limit, thread, limit->rate.capacity == 1);
      });
    };
    get.push_back(measure(cache.pid(), threads, seconds,
                          [&](int) { return libmemcached_get(cache.port()); }));
    admitted.push_back(decide(&cached, cache.pid(), &wide));
    by_redis.push_back(decide(&shared, redis.pid(), &wide));
    denied.push_back(decide(&cached, cache.pid(), &narrow));
    denied_by_redis.push_back(decide(&shared, redis.pid(), &narrow));
  }
  std::vector<double> bases;
  for (const Figures& one : get) bases.push_back(one.p50_us);
  std::sort(bases.begin(), bases.end());
  const Figures base{0, bases[kRounds / 2], 0, 0, 0};
  std::printf("%d threads; cpu: this process + the server, for each call\n",
              threads);
  print("libmemcached, one get", get, base);
  print("memcached, admission", admitted, base);
  print("memcached, denial", denied, base);
  print("Redis, admission", by_redis, base);
  print("Redis, denial", denied_by_redis, base);
}

}  // namespace
}  // namespace limitree

int main(int argc, char** argv) {
  limitree::run(argc > 1 ? std::atof(argv[1]) : 1.0,
                argc > 2 ? std::atoi(argv[2]) : 64);
  return 0;
}
