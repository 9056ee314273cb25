// Processes that charge the same callers at the same time.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/store/memcached/memcached_server.hpp"
#include "core/store/store_cases.hpp"
#include "store/memcached/memcached_store.hpp"

namespace limitree::memcached {
namespace {

using std::chrono::hours;

constexpr int kProcesses = 8;

// The sum of what `work` returns in each of several processes.
int sum_over_processes(const std::function<int()>& work) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const int result = work();
      _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    children.push_back(child);
  }
  close(ends[1]);
  int sum = 0;
  int result = 0;
  int answers = 0;
  while (read(ends[0], &result, sizeof result) == sizeof result) {
    sum += result;
    ++answers;
  }
  close(ends[0]);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  EXPECT_EQ(answers, kProcesses);
  return sum;
}

// Threads of this process that ask until they have had enough answers.
int admitted_by(Store* store, int threads, int requests,
                const std::function<bool(Store*)>& admits) {
  std::atomic<int> admitted = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < requests; ++i) admitted += admits(store) ? 1 : 0;
    });
  }
  for (std::thread& one : all) one.join();
  return admitted;
}

TEST(MemcachedConflicts, OneFamilyAdmitsExactlyItsCapacity) {
  const MemcachedServer server;
  const Settings settings = store_settings("memcached://" + server.host());
  const Limit limit = simple_limit(hours(1), 100);
  const int admitted = sum_over_processes([&] {
    MemcachedStore store(settings, Clock());
    return admitted_by(&store, 2, 20, [&](Store* of) {
      Plan plan(Operation::kAuthorize);
      plan.segments.emplace_back("alex", Segment::Kind::kCaller);
      plan.add_level(&limit, 0u, 1u, 1);
      const Status status = of->decide(&plan);
      EXPECT_TRUE(status.ok()) << status.message();
      return status.ok() && !plan.levels[0].verdict.limited;
    });
  });
  EXPECT_EQ(admitted, 100);
}

// Many threads of a few processes: after a conflict one of a process at a time
// goes on, so that all come to an end.
TEST(MemcachedConflicts, ManyThreadsComeToAnEnd) {
  const MemcachedServer server;
  Settings settings = store_settings("memcached://" + server.host());
  settings.timeout = std::chrono::seconds(30);
  const Limit limit = simple_limit(hours(1), 5000);
  const int admitted = sum_over_processes([&] {
    MemcachedStore store(settings, Clock());
    return admitted_by(&store, 16, 4, [&](Store* of) {
      Plan plan(Operation::kAuthorize);
      plan.segments.emplace_back("alex", Segment::Kind::kCaller);
      plan.add_level(&limit, 0u, 1u, 1);
      return of->decide(&plan).ok() && !plan.levels[0].verdict.limited;
    });
  });
  EXPECT_EQ(admitted, kProcesses * 16 * 4);
}

// Each request charges two of three callers; they lie on several servers.  What
// a request has written before it met a conflict is given back, or stays
// charged if others have charged the same caller since.
class SeveralFamilies : public testing::TestWithParam<Operation> {
 protected:
  Status ask(Store* store, Operation operation, int first, int second,
             bool* allowed) {
    Plan plan(operation);
    plan.reservation.id = {static_cast<std::uint64_t>(getpid()), ++asked_};
    for (const int i : {first, second}) {
      plan.segments.emplace_back(names_[i], Segment::Kind::kCaller);
      plan.add_level(&limits_[i],
                     static_cast<std::uint32_t>(plan.segments.size() - 1), 1u,
                     operation == Operation::kPeek ? 0 : 1);
    }
    Status status = store->decide(&plan);
    *allowed = true;
    for (const Level& level : plan.levels) *allowed &= !level.verdict.limited;
    remaining_ = plan.levels[0].verdict.remaining;
    return status;
  }

  const std::string names_[3] = {"a", "b", "c"};
  Limit limits_[3];
  static std::atomic<std::uint64_t> asked_;
  static thread_local std::int64_t remaining_;
};
std::atomic<std::uint64_t> SeveralFamilies::asked_ = 0;
thread_local std::int64_t SeveralFamilies::remaining_ = 0;

TEST_P(SeveralFamilies, NeverAdmitMore) {
  for (Limit& limit : limits_) {
    limit = simple_limit(hours(1), 60);
    if (GetParam() != Operation::kReserve) continue;
    Rules rules;
    rules.hold = hours(1);
    limit.rules = std::make_shared<const Rules>(rules);
  }
  const MemcachedServer one;
  const MemcachedServer two;
  const Settings settings =
      store_settings("memcached://" + one.host() + "," + two.host());
  // 1 and 2 for each of the three, in the digits of a number.
  const int counts = sum_over_processes([&] {
    MemcachedStore store(settings, Clock());
    int admitted[3] = {};
    for (int i = 0; i < 24; ++i) {
      const int left_out = (i + getpid()) % 3;
      const int first = left_out == 0 ? 1 : 0;
      bool allowed = false;
      const Status status =
          ask(&store, GetParam(), first, 3 - left_out - first, &allowed);
      EXPECT_TRUE(status.ok()) << status.message();
      if (status.ok() && allowed) ++admitted[left_out];
    }
    return admitted[0] + 1000 * (admitted[1] + 1000 * admitted[2]);
  });
  const int by_left_out[3] = {counts % 1000, counts / 1000 % 1000,
                              counts / 1'000'000};
  const int all = by_left_out[0] + by_left_out[1] + by_left_out[2];
  MemcachedStore store(settings, Clock());
  for (int i = 0; i < 3; ++i) {
    const int admitted = all - by_left_out[i];
    EXPECT_LE(admitted, 60);
    bool allowed = false;
    ASSERT_TRUE(ask(&store, Operation::kPeek, i, (i + 1) % 3, &allowed).ok());
    EXPECT_LE(remaining_, 60 - admitted) << "of " << names_[i];
  }
  EXPECT_GT(all, 45) << "some may be denied for a moment";
}

INSTANTIATE_TEST_SUITE_P(Operations, SeveralFamilies,
                         testing::Values(Operation::kAuthorize,
                                         Operation::kReserve));

}  // namespace
}  // namespace limitree::memcached
