// Processes that reserve, and are killed at any moment: there are never more
// units in use than the limits allow, and nothing stays held.

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/sanitizers.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/shared/child_process.hpp"
#include "core/store/shared/file_walk.hpp"
#include "core/store/temporary_folder.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::hold_chaos_test {
namespace {

constexpr std::int64_t kSlots = 7;
constexpr std::int64_t kTokens = 3000;
constexpr std::int64_t kMost = 9;  // tokens of a request
constexpr int kWorkers = 5;
constexpr std::string_view kYaml = R"(
schema:
  job:
    limits:
      - {name: slots, concurrent: 7, hold: 30s}
      - {name: tpm, count: 100, period: 1s, burst: 3000, unit: tokens,
         hold: 20s}
)";

// What all processes share.  The clock stands still while they run, so that
// what a killed process has held stays held.
struct Board {
  std::atomic<std::int64_t> now{1'750'000'000'000'000'000};
  std::atomic<std::int64_t> inside{0};  // holders of slots, dead ones too
  std::atomic<std::int64_t> tokens{0};  // used or held
  std::atomic<std::int64_t> most_inside{0};
  std::atomic<std::int64_t> most_tokens{0};
  std::atomic<std::int64_t> turns{0};
  std::atomic<std::int64_t> lost{0};  // holds that ended too early
  std::atomic<std::int64_t> errors{0};
};

void raise_to(std::int64_t value, std::atomic<std::int64_t>* most) {
  std::int64_t seen = *most;
  while (seen < value && !most->compare_exchange_weak(seen, value)) {
  }
}

// What one thread does.  Copies share their limiter, as threads of a process
// do.
class Caller {
 public:
  Caller(const std::string& url, Board* board) : board_(*board) {
    Options options;
    options.clock = Clock(
        [](void* of) -> std::int64_t { return static_cast<Board*>(of)->now; },
        board);
    // A process that is killed may have to be waited for.
    for (const auto& [name, value] :
         {std::pair<const char*, std::string>{"store", url},
          {"timeout", "30s"}}) {
      EXPECT_TRUE(set_option(name, value, &options).ok());
    }
    limiter_ = std::make_shared<Limiter>(
        std::make_shared<const Tree>(loaded(kYaml)), options,
        std::move(make_store(options).value()));
  }

  // Returns false if that was denied, or failed.
  bool reserve(std::int64_t slots, std::int64_t tokens) {
    id_ = limiter_->new_hold_id();
    return decide(Operation::kReserve, slots, tokens) && !decision_.limited;
  }
  // Returns how many limits still held.
  std::int32_t settle(std::int64_t tokens) {
    return decide(Operation::kSettle, kAsHeld, tokens) ? decision_.held : -1;
  }
  std::int32_t extend() {
    return decide(Operation::kExtend, kAsHeld, 0) ? decision_.held : -1;
  }
  std::int64_t left(std::size_t level) {
    return decide(Operation::kLook, 0, 0) ? reports_[level].verdict.remaining
                                          : -1;
  }

  // Until it is killed.  A use counts in *board from when it is allowed until
  // before it is given up.
  [[noreturn]] void work(std::uint64_t seed) {
    std::minstd_rand random(static_cast<unsigned>(seed));
    for (;;) {
      const std::int64_t held = 1 + static_cast<std::int64_t>(random() % kMost);
      if (!reserve(1, held)) continue;
      raise_to(++board_.inside, &board_.most_inside);
      raise_to(board_.tokens += held, &board_.most_tokens);
      ++board_.turns;
      if (random() % 4 == 0 && extend() != 2) ++board_.lost;
      const std::int64_t used = static_cast<std::int64_t>(random() % 3) % held;
      board_.tokens -= held - used;
      --board_.inside;
      if (settle(used) != 2) ++board_.lost;
      if (random() % 4 == 0 && settle(used) != 0) ++board_.lost;
    }
  }

 private:
  bool decide(Operation operation, std::int64_t requests, std::int64_t tokens) {
    static constexpr std::array<std::string_view, 1> kPath = {"job"};
    const PathCost cost{kPath, requests};
    const UnitCost unit{"tokens", tokens};
    const bool extends = operation == Operation::kExtend;
    const Duration hold = extends ? std::chrono::seconds(10) : Duration::zero();
    decision_ = {};
    const Status status =
        limiter_->decide(operation, {{&cost, 1}, {&unit, 1}, {id_, hold}},
                         &reports_, &decision_);
    if (!status.ok()) ++board_.errors;
    return status.ok();
  }

  Board& board_;
  std::shared_ptr<Limiter> limiter_;
  HoldId id_;
  LevelReports reports_;
  Decision decision_;
};

class HoldChaos : public testing::Test {
 protected:
  // Starts processes of two threads, and kills `kills` of them, each at a
  // random moment within `longest`.
  void kill_workers(const std::string& url, int kills,
                    std::chrono::microseconds longest) {
    std::vector<ChildProcess> workers;
    const auto start = [&]() -> ChildProcess {
      const std::uint64_t seed = random_();
      return ChildProcess(
          [&, seed]() -> int { Caller(url, board_.operator->()).work(seed); });
    };
    for (int i = 0; i < kWorkers; ++i) workers.push_back(start());
    for (int i = 0; i < kills; ++i) {
      const std::int64_t before = board_->turns;
      std::this_thread::sleep_for(longest * static_cast<int>(random_() % 1000) /
                                  1000);
      ChildProcess& worker = workers[random_() % kWorkers];
      worker.send(SIGKILL);
      EXPECT_EQ(worker.wait(), 1000 + SIGKILL);
      worker = start();
      moments_ += board_->turns != before ? 1 : 0;
    }
  }

  void run(const std::string& url, int rounds, int kills,
           std::chrono::microseconds longest) {
    Caller caller(url, board_.operator->());
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      kill_workers(url, kills, longest);
      EXPECT_LE(board_->most_inside, kSlots);
      EXPECT_LE(board_->most_tokens, kTokens);
      EXPECT_EQ(board_->lost, 0);
      EXPECT_EQ(board_->errors, 0);
      // All are dead: what they held is still held.
      EXPECT_LE(caller.left(0), kSlots - board_->inside);
      EXPECT_LE(caller.left(1), kTokens - board_->tokens);
      board_->now += Duration(std::chrono::seconds(30)).count();
      for (std::int64_t i = 0; i < kSlots; ++i) {
        EXPECT_TRUE(caller.reserve(1, 1));
      }
      EXPECT_FALSE(caller.reserve(1, 1)) << "more slots than there are";
      board_->now += Duration(std::chrono::seconds(60)).count();
      EXPECT_EQ(caller.left(0), kSlots);
      EXPECT_EQ(caller.left(1), kTokens);
      board_->inside = board_->tokens = 0;
    }
    EXPECT_GT(board_->turns, rounds);
    EXPECT_GT(moments_, 0);
    EXPECT_GT(board_->most_inside, 1);
  }

  CommonMemory<Board> board_;
  std::mt19937_64 random_{20261128};
  int moments_ = 0;  // kills while somebody worked
};

TEST_F(HoldChaos, Shared) {
  const TemporaryFolder folder("chaos");
  run("shm://" + folder.path() + "/limits", kSanitized ? 5 : 25, 12,
      std::chrono::milliseconds(3));
  SharedStore::Settings settings;
  settings.url.path = folder.path() + "/limits";
  Result<std::unique_ptr<Store>> store = SharedStore::open(settings);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(faults_in(static_cast<SharedStore*>(store.value().get())),
            std::vector<std::string>());
}

TEST_F(HoldChaos, Redis) {
  const redis::RedisServer server;
  run("redis://127.0.0.1:" + std::to_string(server.port()), kSanitized ? 5 : 20,
      12, std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace limitree::hold_chaos_test
