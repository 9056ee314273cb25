// Plays random traces of reservations and judges them by what was used: no
// window of any limit may have more than the limit.
//
//   hold_traces [--store memory|shm|redis] [--traces N] [--seed N] [--refund]
//
// Processes reserve, settle, cancel, extend, forget, authorize and spend in the
// same buckets, and settle what others have reserved, twice or too late. Each
// trace has about 20 steps of 2 to 4 processes, which are threads with
// `memory`.  In a round all processes act at the same instant of a clock that
// the program sets, in any order, so the time of each use is known exactly.
//
// With --refund the same traces charge their estimates and give the rest back,
// which admits too much: then the program fails if it does not find that.

#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "core/store/redis/redis_server.hpp"
#include "core/store/shared/child_process.hpp"
#include "core/store/temporary_folder.hpp"
#include "limiter/make_store.hpp"
#include "traces/player.hpp"
#include "tree/schema.hpp"

namespace limitree::traces {
namespace {

constexpr int kShapes = 200;

std::int64_t read_clock(void* /*unused*/) { return clock_ns; }

std::unique_ptr<Limiter> make_limiter(const Run& run, const std::string& url) {
  Options options;
  options.clock = Clock(read_clock, nullptr);
  const auto set = [&](std::string_view name, std::string_view value) {
    const Status status = set_option(name, value, &options);
    if (!status.ok()) throw std::runtime_error(status.message());
  };
  set("store", url);
  set("max_buckets", "20000");
  // Whoever is asked may get no processor for a while.
  set("timeout", "30s");
  Result<Tree> tree =
      load_tree(yaml_of(run.shapes), "traces",
                [](const std::string&, std::size_t) -> Result<std::string> {
                  return Status(Code::kInvalidConfig, "no such file");
                });
  if (!tree.ok()) throw std::runtime_error(tree.status().message());
  Result<std::unique_ptr<Store>> store = make_store(options);
  if (!store.ok()) throw std::runtime_error(store.status().message());
  return std::make_unique<Limiter>(
      std::make_shared<const Tree>(std::move(tree.value())), options,
      std::move(store.value()));
}

void play_with_threads(const Run& run, Board* board) {
  const auto limiter = make_limiter(run, "memory://");
  std::vector<std::thread> threads;
  for (int i = 0; i < kProcesses; ++i) {
    threads.emplace_back(
        [&, i] { Player(run, board, limiter.get(), i).play(sched_yield); });
  }
  for (std::thread& thread : threads) thread.join();
}

// Returns false if one of them ended early.
bool play_with_processes(const Run& run, const std::string& url, Board* board) {
  std::vector<ChildProcess> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.emplace_back([&] {
      try {
        const auto limiter = make_limiter(run, url);
        const pid_t parent = getppid();
        const auto wait = [&] {
          if (getppid() != parent) _exit(1);
          sched_yield();
        };
        Player(run, board, limiter.get(), i).play(wait);
        return 0;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", i, error.what());
        return 1;
      }
    });
  }
  bool all_well = true;
  while (!children.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::erase_if(children, [&](ChildProcess& child) {
      const std::optional<int> status = child.ended();
      if (status.value_or(0) == 0) return status.has_value();
      std::fprintf(stderr, "a process ended with status %d\n", *status);
      board->barrier.stop();
      all_well = false;
      return true;
    });
  }
  return all_well;
}

bool play(const Run& run, Board* board) {
  if (run.store == "memory") {
    play_with_threads(run, board);
    return true;
  }
  if (run.store == "redis") {
    const redis::RedisServer server;
    return play_with_processes(
        run, "redis://127.0.0.1:" + std::to_string(server.port()), board);
  }
  const TemporaryFolder folder("traces");
  return play_with_processes(run, "shm://" + folder.path() + "/limits", board);
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.begin(), text.end(), value);
  if (read.ptr != text.end() || value < 1) {
    throw std::runtime_error("not a number: " + std::string(text));
  }
  return value;
}

Run read_arguments(int count, char** words) {
  Run run;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--refund") {
      run.refunds = true;
    } else if (i + 1 == count) {
      throw std::runtime_error("unknown, or without a value: " +
                               std::string(word));
    } else if (word == "--traces") {
      run.traces = number(words[++i]);
    } else if (word == "--seed") {
      run.seed = static_cast<std::uint64_t>(number(words[++i]));
    } else if (word == "--store") {
      run.store = words[++i];
    } else {
      throw std::runtime_error("unknown: " + std::string(word));
    }
  }
  Random random(run.seed);
  for (int i = 0; i < kShapes; ++i) {
    run.shapes.push_back(random_shape(!run.refunds, random));
  }
  return run;
}

int report(const Run& run, const Board& board, double seconds) {
  Counts all;
  for (const Counts& counts : board.counts) all.add(counts);
  const auto line = [](const char* what, std::int64_t count) {
    std::printf("%12lld %s\n", static_cast<long long>(count), what);
  };
  std::printf("%s, seed %llu, %.1f s\n", run.store.c_str(),
              static_cast<unsigned long long>(run.seed), seconds);
  line("traces", run.traces);
  line("steps", all.steps);
  line("requests allowed", all.reserved);
  line("requests denied", all.denied);
  line("traces over a limit", all.over);
  if (run.refunds) return all.over > 0 ? 0 : 1;
  line("holds settled", all.settled);
  line("holds that ended by themselves", all.forgotten);
  line("holds settled or extended again or too late", all.too_late);
  const bool met_all = all.reserved > 0 && all.denied > 0 && all.settled > 0 &&
                       all.forgotten > 0 && all.too_late > 0;
  return all.over == 0 && met_all ? 0 : 1;
}

int run_traces(int count, char** words) {
  const Run run = read_arguments(count, words);
  CommonMemory<Board> board;
  Board& shared = *board.operator->();
  const auto begin = std::chrono::steady_clock::now();
  const bool ended_well = play(run, &shared);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  if (shared.has_fault) {
    std::fprintf(stderr, "%s, seed %llu, %s", run.store.c_str(),
                 static_cast<unsigned long long>(run.seed), shared.fault);
    return 1;
  }
  const int status = report(run, shared, took.count());
  return ended_well ? status : 1;
}

}  // namespace
}  // namespace limitree::traces

int main(int count, char** words) {
  try {
    return limitree::traces::run_traces(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hold_traces: %s\n", error.what());
    return 1;
  }
}
