// Many processes that come, and descriptors that are used up.

#include "store/shared/process_slots.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "core/sanitizers.hpp"
#include "core/store/shared/child_process.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

using shared::OwnProcessSlot;

// ProcessSlot in the file of a store, as of so many processes.
class ProcessSlot {
 public:
  ProcessSlot(SharedStore* store, int count) {
    shared::MappedFile& file = store->memory().file();
    for (int i = 0; i < count; ++i) {
      slots_.push_back(std::make_unique<OwnProcessSlot>(
          reinterpret_cast<shared::ProcessSlot*>(file.at(file.layout().slots)),
          file.layout().slots, file.file(), file.path()));
      taken_ += slots_.back()->take() ? 1 : 0;
    }
  }
  int taken() const { return taken_; }
  OwnProcessSlot& last() { return *slots_.back(); }

 private:
  std::vector<std::unique_ptr<OwnProcessSlot>> slots_;
  int taken_ = 0;
};

// Room for a descriptor of each process slot; the tests end with what they
// began with.
class ManyFiles {
 public:
  ManyFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit more{before_.rlim_max, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &more);
    enough_ = before_.rlim_max >= 2 * shared::kProcessSlots;
  }
  ~ManyFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  bool enough() const { return enough_; }

 private:
  rlimit before_{};
  bool enough_ = false;
};

// The processor's time that this process takes, in milliseconds.
template <typename Body>
double work_of(Body body) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 +
           static_cast<double>(time.tv_nsec) / 1e6;
  };
  const double start = now();
  body();
  return now() - start;
}

class SharedSeats : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(many_files.enough()); }

  const ManyFiles many_files;
  const SharedFile file{1000};
  const std::unique_ptr<SharedStore> store = file.open();
};

// To try each process slot from the first on takes 5 to 11 ms.
TEST_F(SharedSeats, TheLastOnesAreFoundAsFastAsTheFirst) {
  const ProcessSlot most(store.get(), 960);
  EXPECT_EQ(most.taken(), 960);
  EXPECT_LT(work_of([&] {
              for (int i = 0; i < 100; ++i) {
                EXPECT_EQ(ProcessSlot(store.get(), 1).taken(), 1);
              }
            }),
            200);
}

TEST_F(SharedSeats, ThoseOfKilledProcessesAreFoundToo) {
  ChildProcess child([&] {
    const ProcessSlot killed(store.get(), 900);
    raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(child.wait(), 1000 + SIGKILL);
  EXPECT_EQ(store->file()->processes, 1);
  EXPECT_LT(
      work_of([&] { EXPECT_EQ(ProcessSlot(store.get(), 200).taken(), 200); }),
      1000);
  const ProcessSlot all(store.get(), 1023);
  EXPECT_EQ(all.taken(), 1023);
}

TEST(SharedFiles, AreOpenedByAllWhoComeAtOnce) {
  const ManyFiles many_files;
  ASSERT_TRUE(many_files.enough());
  const SharedFile file(1000);
  constexpr int kProcesses = 200;
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  int stay[2];
  ASSERT_EQ(pipe(stay), 0);
  std::vector<ChildProcess> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.emplace_back([&] {
      char byte = 0;
      close(go[1]);
      close(stay[1]);
      if (read(go[0], &byte, 1) != 0) return 2;  // until it is closed
      const auto own = file.open();
      if (own == nullptr) return 3;
      // The process slot is kept until all have one.
      return read(stay[0], &byte, 1) == 0 ? 0 : 4;
    });
  }
  // Not before: a child takes a process slot for each that it inherits.
  const auto store = file.open();
  const ProcessSlot most(store.get(), 820);
  close(go[0]);
  close(go[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (store->file()->processes < 1 + 820 + kProcesses &&
         std::chrono::steady_clock::now() < end) {
    usleep(50'000);
  }
  EXPECT_EQ(store->file()->processes, 1 + 820 + kProcesses);
  close(stay[0]);
  close(stay[1]);
  for (ChildProcess& child : children) EXPECT_EQ(child.wait(), 0);
}

TEST_F(SharedSeats, SayWhenNoneIsFree) {
  ProcessSlot all(store.get(), 1023);
  EXPECT_EQ(all.taken(), 1023);
  EXPECT_EQ(file.error(), file.path() + ": has no slot for this process");
  ProcessSlot none(store.get(), 1);
  EXPECT_EQ(none.taken(), 0);
  EXPECT_EQ(none.last().failed(), OwnProcessSlot::kNone);
}

// Wherever it runs out of descriptors, it says so.
TEST(SharedFiles, SayThatThereAreTooManyOfThem) {
  if (kAddressSanitized) GTEST_SKIP() << "it needs descriptors, too";
  for (const bool there : {true, false}) {
    ChildProcess child([&] {
      const SharedFile file(1000);
      if (there && !file.error().empty()) return 1;
      const int next = open("/dev/null", O_RDONLY);
      close(next);
      const std::string many = "Too many open files";
      int failures = 0;
      for (int more = 0;; ++more) {
        const rlimit few{static_cast<rlim_t>(next + more),
                         static_cast<rlim_t>(1000)};
        setrlimit(RLIMIT_NOFILE, &few);
        const std::string error = file.error();
        if (error.empty()) return failures > 1 ? 0 : 2;
        if (error.find(many) == error.npos) {
          ADD_FAILURE() << error;
          return 3;
        }
        ++failures;
      }
    });
    EXPECT_EQ(child.wait(), 0);
  }
}

// A child that gets no process slot of its own says why.
TEST(SharedFiles, AChildWithoutDescriptorsHasNoSeat) {
  if (kAddressSanitized) GTEST_SKIP() << "it needs descriptors, too";
  const SharedFile file(1000);
  const auto store = file.open();
  ChildProcess parent([&] {
    const auto own = file.open();
    const int next = open("/dev/null", O_RDONLY);
    close(next);
    const rlimit few{static_cast<rlim_t>(next), static_cast<rlim_t>(next)};
    setrlimit(RLIMIT_NOFILE, &few);
    ChildProcess child([&] {
      const Limit limit = simple_limit(std::chrono::hours(1), 1);
      Plan plan(Operation::kAuthorize);
      plan.segments.emplace_back("a", Segment::Kind::kCaller);
      plan.add_level(&limit, 0u, 1u, 1);
      const Status status = own->decide(&plan);
      return !status.ok() && status.error().messages[0] ==
                                 file.path() +
                                     ": this process has no slot in it: Too "
                                     "many open files"
                 ? 0
                 : 1;
    });
    return child.wait();
  });
  EXPECT_EQ(parent.wait(), 0);
}

// A process that waits for the lock of the opening does not wait forever.
TEST(SharedFiles, SayThatAProcessIsStoppedThatOpensThem) {
  const SharedFile file(1000);
  ASSERT_EQ(file.error(), "");
  ChildProcess child([&] {
    const int own = open(file.path().c_str(), O_RDWR);
    if (!shared::lock_opening(own, file.path()).ok()) return 1;
    raise(SIGSTOP);
    return 0;
  });
  child.wait_until_stopped();
  EXPECT_EQ(file.error(),
            file.path() + ": is being opened by a process that is stopped");
  child.send(SIGCONT);
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(file.error(), "");
}

}  // namespace
}  // namespace limitree
