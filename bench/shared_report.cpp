// shm:// beside memory:// and Redis, in one process and in two, with the ratios
// that docs/shared-memory.md shows.
//
// Every figure is the median of several rounds, and every round measures all of
// them.  It starts its own redis-server.  Usage: shared_report [rounds]

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/peers.hpp"
#include "core/store/redis/redis_server.hpp"
#include "limiter/make_store.hpp"
#include "limiter/options.hpp"
#include "store/memory/memory_store.hpp"
#include "store/shared/shared_store.hpp"

namespace limitree::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint32_t kMillion = 1'000'000;
constexpr std::int64_t kMaxBuckets = 1'500'000;
constexpr int kDecisions = 1'000'000;  // of a round

const Limit& generous() {
  static const Limit limit = [] {
    Limit made;
    made.rate = {std::chrono::seconds(1), 3'000'000'000};
    return made;
  }();
  return limit;
}

void decide(Store* store, std::string_view caller) {
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back("user", Segment::Kind::kExact);
  plan.segments.emplace_back(caller, Segment::Kind::kCaller);
  plan.add_level(&generous(), 0u, 2u, 1);
  if (store->decide(&plan).ok() && !plan.levels[0].verdict.limited) return;
  std::fprintf(stderr, "a request was not allowed\n");
  std::exit(1);
}

// A file in shared memory.
class File {
 public:
  File() : path_("/dev/shm/limitree-bench-" + std::to_string(getpid())) {}
  ~File() { unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::unique_ptr<Store> open() const {
    SharedStore::Settings settings;
    settings.url.path = path_;
    settings.max_buckets = kMaxBuckets;
    settings.timeout = std::chrono::seconds(10);
    Result<std::unique_ptr<Store>> store = SharedStore::open(settings);
    if (store.ok()) return std::move(store.value());
    std::fprintf(stderr, "%s\n", store.status().error().messages[0].c_str());
    std::exit(1);
  }
  void remove() const { unlink(path_.c_str()); }

 private:
  const std::string path_;
};

double ns_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::nano>(SteadyClock::now() - start)
      .count();
}

// Nanoseconds for one decision.
double measure(Store* store, std::uint32_t callers, std::uint64_t seed,
               int decisions = kDecisions) {
  Callers next(callers, seed);
  const auto start = SteadyClock::now();
  for (int i = 0; i < decisions; ++i) decide(store, next.next());
  return ns_since(start) / decisions;
}

void fill(Store* store) {
  Callers all(kMillion, 1);
  for (std::uint32_t i = 0; i < kMillion; ++i) decide(store, all.name(i));
}

// Nanoseconds for one decision of a process while two of them decide.
double measure_two(const File& file, std::uint32_t callers) {
  using Gate = std::atomic<int>;
  void* const place = mmap(nullptr, sizeof(Gate), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Gate* const ready = new (place) Gate(0);
  const pid_t child = fork();
  const std::unique_ptr<Store> store = file.open();
  measure(store.get(), callers, 7);  // maps the pages
  ++*ready;
  while (*ready < 2) usleep(100);
  const double ns = measure(store.get(), callers, child == 0 ? 1 : 2);
  // Whoever is done first goes on, so that the other is not faster alone.
  ++*ready;
  while (*ready < 4) measure(store.get(), callers, 3, 1000);
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  munmap(place, sizeof(Gate));
  return ns;
}

std::unique_ptr<Store> store_of(const redis::RedisServer& server) {
  Options options;
  options.deny_cache = false;
  options.redis_settings.timeout = std::chrono::seconds(10);
  if (!set_option("store", "redis+unix://" + server.socket(), &options).ok()) {
    std::exit(1);
  }
  return std::move(make_store(options).value());
}

class Rows {
 public:
  void add(const std::string& name, double value) {
    for (auto& [known, values] : rows_) {
      if (known == name) return values.push_back(value);
    }
    rows_.push_back({name, {value}});
  }
  double median(const std::string& name) {
    for (auto& [known, values] : rows_) {
      if (known != name) continue;
      std::sort(values.begin(), values.end());
      return values[values.size() / 2];
    }
    return 0;
  }

 private:
  std::vector<std::pair<std::string, std::vector<double>>> rows_;
};

// `value` is how many times as long, or as many, as the base.
void print(const char* what, double ns, double value, const char* target) {
  std::printf("%-36s %8.1f ns %7.2fx  target %s\n", what, ns, value, target);
}

void print(Rows* rows) {
  const auto ns = [rows](const char* row) { return rows->median(row); };
  print("one process, one hot caller", ns("shm hot"),
        ns("shm hot") / ns("memory hot"), "<= 1.5x of memory://");
  print("one process, a million callers", ns("shm 1M"),
        ns("shm 1M") / ns("memory 1M"), "<= 1.2x of memory://");
  print("two processes, a million callers", ns("two 1M"),
        2 * ns("shm 1M") / ns("two 1M"), ">= 1.7x as many as one");
  print("two processes, one hot caller", ns("two hot"),
        ns("two hot") / ns("shm hot"), "<= 3x of one");
  print("Redis on a Unix socket", ns("redis"), ns("redis") / ns("shm hot"),
        ">= 50x of shm://");
}

void measure_making(const File& file) {
  file.remove();
  const auto start = SteadyClock::now();
  const std::unique_ptr<Store> made = file.open();
  std::printf("%-36s %8.2f ms           target <= 20 ms\n", "making the file",
              ns_since(start) / 1e6);
  std::printf("%-36s %8.2f MB\n", "its memory, empty",
              static_cast<double>(made->stats().bytes) / 1e6);
  Callers all(kMillion, 1);
  for (std::uint32_t i = 0; i < kMillion; ++i) {
    decide(made.get(), all.name(i));
    if (i + 1 != 1000 && i + 1 != 100'000 && i + 1 != kMillion) continue;
    const StoreStats stats = made->stats();
    std::printf("  %9lld buckets %20s %8.2f MB\n",
                static_cast<long long>(stats.buckets), "",
                static_cast<double>(stats.bytes) / 1e6);
  }
}

// Nanoseconds to take a lock and to give it back, without anybody else: a mutex
// of pthread that survives its owner, and a word as shm:// has.
template <typename Take, typename Give>
double measure_lock(Take take, Give give) {
  constexpr int kTimes = 10'000'000;
  const auto start = SteadyClock::now();
  for (int i = 0; i < kTimes; ++i) {
    take();
    give();
  }
  return ns_since(start) / kTimes;
}

void measure_locks() {
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &robust);
  std::printf("%-36s %8.1f ns\n", "a robust mutex",
              measure_lock([&] { pthread_mutex_lock(&mutex); },
                           [&] { pthread_mutex_unlock(&mutex); }));
  pthread_mutex_destroy(&mutex);
  pthread_mutexattr_destroy(&robust);
  std::atomic<std::uint64_t> word{0};
  const auto take = [&word] {
    std::uint64_t nobody = 0;
    word.compare_exchange_strong(nobody, 1, std::memory_order_acquire,
                                 std::memory_order_relaxed);
  };
  std::printf("%-36s %8.1f ns\n", "a word in the file",
              measure_lock(
                  take, [&word] { word.store(0, std::memory_order_release); }));
}

void run(int rounds) {
  Rows rows;
  const File file;
  const redis::RedisServer server;
  const std::unique_ptr<Store> redis = store_of(server);
  MemoryStore memory(kMaxBuckets);
  fill(&memory);
  fill(file.open().get());
  for (int i = 0; i < rounds; ++i) {
    const std::unique_ptr<Store> shared = file.open();
    measure(shared.get(), kMillion, 3);  // maps the pages
    rows.add("memory hot", measure(&memory, 1, 1));
    rows.add("shm hot", measure(shared.get(), 1, 1));
    rows.add("memory 1M", measure(&memory, kMillion, 5));
    rows.add("shm 1M", measure(shared.get(), kMillion, 5));
    rows.add("redis", measure(redis.get(), 1, 1, 20'000));
    rows.add("two 1M", measure_two(file, kMillion));
    rows.add("two hot", measure_two(file, 1));
  }
  print(&rows);
  measure_making(file);
  measure_locks();
}

}  // namespace
}  // namespace limitree::bench

int main(int argc, char** argv) {
  limitree::bench::run(argc > 1 ? std::atoi(argv[1]) : 5);
}
