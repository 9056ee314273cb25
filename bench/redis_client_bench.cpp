// The cost of a round trip for blocking callers and for an event loop, compared
// with bare hiredis.  All use the same private redis-server, one after another.
//
// Usage: redis_client_bench [seconds of each measurement] [threads | loops]

#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/store/redis/redis_server.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/wire/redis_dialog.hpp"
#include "store/remote/common/traffic.hpp"
#include "store/remote/drivers/blocking_driver.hpp"
#include "store/remote/drivers/connection_pool.hpp"
#include "store/remote/drivers/loop.hpp"

namespace limitree::redis {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;

// About as much work for the server as a decision on two levels.
constexpr const char* kScript = R"(
local time = redis.call('TIME')
local found = redis.call('HMGET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], time[1], ARGV[2], time[2])
return {1, found[1], found[2]}
)";

// ---- figures ---------------------------------------------------------------

struct Figures {
  double per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
  double cpu_us = 0;     // of this process, for each
  double server_us = 0;  // of the server, for each
};

// The processor time, in seconds, that both have used so far.
struct Effort {
  double ours = 0;
  double servers = 0;
};

double field_of(const std::string& info, const std::string& name) {
  const std::size_t at = info.find(name + ":");
  return at == std::string::npos
             ? 0
             : std::atof(info.c_str() + at + name.size() + 1);
}

Effort effort(const RedisServer& server) {
  const std::string info = server.cli({"INFO", "cpu"});
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) / 1e6;
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime),
          field_of(info, "used_cpu_user_main_thread") +
              field_of(info, "used_cpu_sys_main_thread")};
}

Figures figures_of(std::vector<float> us, double seconds, const Effort& before,
                   const Effort& after) {
  std::sort(us.begin(), us.end());
  const auto at = [&](double part) {
    return us.empty() ? 0.0
                      : us[static_cast<std::size_t>(
                            part * static_cast<double>(us.size() - 1))];
  };
  const auto count = static_cast<double>(us.size());
  return {count / seconds, at(0.5), at(0.99),
          (after.ours - before.ours) * 1e6 / count,
          (after.servers - before.servers) * 1e6 / count};
}

float us_since(Clock::time_point start) {
  return std::chrono::duration<float, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

Figures median_of(const std::vector<Figures>& rounds) {
  const auto pick = [&](double Figures::*field) {
    std::vector<double> values;
    for (const Figures& one : rounds) values.push_back(one.*field);
    return median(values);
  };
  return {pick(&Figures::per_second), pick(&Figures::p50_us),
          pick(&Figures::p99_us), pick(&Figures::cpu_us),
          pick(&Figures::server_us)};
}

void print(const char* name, const Figures& figures) {
  std::printf(
      "  %-30s %7.0f/s  p50 %7.1f  p99 %8.1f us  cpu %5.2f + %5.2f us\n", name,
      figures.per_second, figures.p50_us, figures.p99_us, figures.cpu_us,
      figures.server_us);
  std::fflush(stdout);
}

// ---- the command -----------------------------------------------------------

class Commands {
 public:
  explicit Commands(const RedisServer& server)
      : sha_(server.cli({"SCRIPT", "LOAD", kScript})) {}

  // For one of a thousand callers.
  std::string decide(int caller) const {
    std::string bytes;
    append_command({"EVALSHA", sha_, "1",
                    "limitree:{user:" + std::to_string(caller % 1000) + "}",
                    "trade", "trade:spot"},
                   &bytes);
    return bytes;
  }

 private:
  const std::string sha_;
};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "redis_client_bench: %s\n", what);
  std::exit(1);
}

// One decision, from building its command to its answer.
class Decision final : public AsyncTask, private Task {
 public:
  Decision(const Commands& commands, int caller)
      : bytes_(commands.decide(caller)), started(Clock::now()) {}

  Task* task() override { return this; }

 private:
  Step start() override { return {Step::Kind::kSend, {}}; }
  Step resumed() override { return {Step::Kind::kDone, {}}; }
  Step answered(Outcome outcome) override {
    require(outcome.failure == Failure::kNone, "no answer");
    return {Step::Kind::kDone, {}};
  }
  std::string_view bytes() const override { return bytes_; }
  const Target& target() const override { return target_; }

  const Target target_;
  const std::string bytes_;

 public:
  const Clock::time_point started;
};

// ---- callers that block ----------------------------------------------------

// Lets `threads` threads call for a while.  make(thread) returns the function
// that a thread calls again and again with the number of the call.
template <typename Make>
Figures block(const RedisServer& server, int threads, double seconds,
              Make make) {
  std::vector<std::vector<float>> samples(static_cast<std::size_t>(threads));
  std::atomic<bool> go = false;
  std::atomic<bool> stop = false;
  std::atomic<int> ready = 0;
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      auto call = make(thread);
      for (int i = 0; i < 10; ++i) call(i);
      ++ready;
      while (!go) std::this_thread::yield();
      std::vector<float>& mine = samples[static_cast<std::size_t>(thread)];
      for (int i = 0; !stop; ++i) {
        const Clock::time_point start = Clock::now();
        call(i);
        mine.push_back(us_since(start));
      }
    });
  }
  while (ready < threads) std::this_thread::yield();
  const Effort before = effort(server);
  const Clock::time_point start = Clock::now();
  go = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : running) thread.join();
  const double took = us_since(start) / 1e6;
  std::vector<float> all;
  for (const std::vector<float>& one : samples) {
    all.insert(all.end(), one.begin(), one.end());
  }
  return figures_of(std::move(all), took, before, effort(server));
}

Figures bare_hiredis(const RedisServer& server, const Commands& commands,
                     int threads, double seconds) {
  return block(server, threads, seconds, [&](int thread) {
    std::shared_ptr<redisContext> context(
        redisConnect("127.0.0.1", server.port()), redisFree);
    require(context && context->err == 0, "cannot connect");
    return [context, bytes = commands.decide(thread)](int) {
      redisAppendFormattedCommand(context.get(), bytes.data(), bytes.size());
      void* reply = nullptr;
      require(redisGetReply(context.get(), &reply) == REDIS_OK, "no reply");
      freeReplyObject(reply);
    };
  });
}

Figures pool(const RedisServer& server, ConnectionPool* pool,
             const Commands& commands, int threads, double seconds) {
  return block(server, threads, seconds, [&](int thread) {
    auto decision = std::make_shared<Decision>(commands, thread);
    return [pool, decision](int) {
      const Clock::time_point now = Clock::now();
      Patience patience(now, now + std::chrono::seconds(5));
      const Outcome outcome = pool->exchange(decision->task(), &patience);
      require(outcome.failure == Failure::kNone, "no answer");
    };
  });
}

void compare_blocking(const RedisServer& server, const Commands& commands,
                      double seconds) {
  Settings settings;
  settings.timeout = std::chrono::seconds(5);
  Settings sleeping = settings;
  sleeping.low_latency = LowLatency::kOff;
  Traffic traffic;
  const RedisProtocol protocol(settings.login);
  Node ours(
      {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(server.port())},
      protocol, &traffic);
  ConnectionPool pool_of_ours(&ours, settings);
  Node sleeps(ours.endpoint(), protocol, &traffic);
  ConnectionPool pool_that_sleeps(&sleeps, sleeping);
  for (const int threads : {1, 2, 4, 16, 64}) {
    std::vector<Figures> theirs;
    std::vector<Figures> mine;
    std::vector<Figures> slept;
    for (int round = 0; round < kRounds; ++round) {
      theirs.push_back(bare_hiredis(server, commands, threads, seconds));
      mine.push_back(pool(server, &pool_of_ours, commands, threads, seconds));
      if (threads == 1) {
        slept.push_back(
            pool(server, &pool_that_sleeps, commands, threads, seconds));
      }
    }
    const Figures peer = median_of(theirs);
    const Figures figures = median_of(mine);
    std::printf("%d threads that block\n", threads);
    print("hiredis, a connection for each", peer);
    print("limitree, 4 connections", figures);
    if (threads == 1) print("limitree, low_latency off", median_of(slept));
    std::printf("  throughput %.2fx, p50 %.2fx, p99 %.2fx\n",
                figures.per_second / peer.per_second,
                figures.p50_us / peer.p50_us, figures.p99_us / peer.p99_us);
  }
}

// ---- an event loop ---------------------------------------------------------

class OneServer final : public Router {
 public:
  explicit OneServer(Node* node) : node_(node) {}
  Node* route(const Target&) override { return node_; }
  std::unique_ptr<Task> discovery() override { return nullptr; }
  Status discovery_failure() override { return {}; }
  Check check_due(Node*, Monotonic) override { return {}; }
  void checked(Node*, const Outcome&) override {}
  bool learn(Node*, const Target&, const Outcome&) override { return false; }
  void for_each(const std::function<void(Node*)>& visit) override {
    visit(node_);
  }
  void before_fork() override {}
  void after_fork() override {}
  std::int32_t slot_of(std::string_view) const override { return 0; }

 private:
  Node* const node_;
};

Figures loop(const RedisServer& server, Node* node, const Commands& commands,
             int in_flight, double seconds) {
  OneServer router(node);
  Settings settings;
  settings.timeout = std::chrono::seconds(5);
  Traffic traffic;
  std::vector<float> samples;
  bool stop = false;
  int under_way = 0;
  std::unique_ptr<Loop> loop;
  int caller = 0;
  const auto start = [&] {
    ++under_way;
    loop->start(std::make_unique<Decision>(commands, ++caller),
                settings.timeout);
  };
  loop = std::make_unique<Loop>(
      &router, settings, [&](std::span<std::unique_ptr<AsyncTask>> batch) {
        for (const std::unique_ptr<AsyncTask>& task : batch) {
          --under_way;
          samples.push_back(us_since(static_cast<Decision&>(*task).started));
          if (!stop) start();
        }
      });
  const auto turn = [&] {
    pollfd watched{loop->fd(), POLLIN, 0};
    if (poll(&watched, 1, 1000) > 0) loop->run();
  };
  for (int i = 0; i < in_flight; ++i) start();
  while (samples.size() < 1000) turn();
  samples.clear();
  const Effort before = effort(server);
  const Clock::time_point began = Clock::now();
  while (us_since(began) < seconds * 1e6) turn();
  const double took = us_since(began) / 1e6;
  const Figures figures = figures_of(samples, took, before, effort(server));
  stop = true;
  while (under_way > 0) turn();
  return figures;
}

// Many commands in one write, then all their answers: the throughput of the
// server with a client that costs almost nothing.
Figures bare_pipeline(const RedisServer& server, const Commands& commands,
                      int in_flight, double seconds) {
  const std::unique_ptr<redisContext, void (*)(redisContext*)> context(
      redisConnect("127.0.0.1", server.port()), redisFree);
  require(context && context->err == 0, "cannot connect");
  std::string batch;
  for (int i = 0; i < in_flight; ++i) batch += commands.decide(i);
  std::vector<float> samples;
  const Effort before = effort(server);
  const Clock::time_point began = Clock::now();
  while (us_since(began) < seconds * 1e6) {
    const Clock::time_point start = Clock::now();
    redisAppendFormattedCommand(context.get(), batch.data(), batch.size());
    for (int i = 0; i < in_flight; ++i) {
      void* reply = nullptr;
      require(redisGetReply(context.get(), &reply) == REDIS_OK, "no reply");
      freeReplyObject(reply);
      samples.push_back(us_since(start));
    }
  }
  const double took = us_since(began) / 1e6;
  return figures_of(std::move(samples), took, before, effort(server));
}

void compare_loops(const RedisServer& server, const Commands& commands,
                   double seconds) {
  const Settings settings;
  Traffic traffic;
  const RedisProtocol protocol(settings.login);
  Node node(
      {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(server.port())},
      protocol, &traffic);
  for (const int in_flight : {1, 64, 1024}) {
    std::vector<Figures> bare;
    std::vector<Figures> mine;
    for (int round = 0; round < kRounds; ++round) {
      bare.push_back(bare_pipeline(server, commands, in_flight, seconds));
      mine.push_back(loop(server, &node, commands, in_flight, seconds));
    }
    std::printf("event loop, %d in flight\n", in_flight);
    print("hiredis, batch by batch", median_of(bare));
    print("limitree", median_of(mine));
  }
}

}  // namespace
}  // namespace limitree::redis

int main(int argc, char** argv) {
  using namespace limitree::redis;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  const std::string_view part = argc > 2 ? argv[2] : "";
  const RedisServer server;
  const Commands commands(server);
  if (part != "loops") compare_blocking(server, commands, seconds);
  if (part != "threads") compare_loops(server, commands, seconds);
}
