// SIGBUS beside handlers of the host.

#include "store/shared/bus_guard.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "core/sanitizers.hpp"
#include "core/store/shared/child_process.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

struct sigaction g_ours;

// As a crash reporter does: it puts the handler back that was there before, and
// raises the signal again, without the address.
void pass_on(int signal) {
  sigaction(signal, &g_ours, nullptr);
  raise(signal);
}

TEST(BusGuard, KnowsAFileThatWasCutOffWithoutTheAddress) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has a handler of its own";
  const SharedFile file(1000);
  ChildProcess child([&] {
    const auto store = file.open();
    const Limit limit = simple_limit(std::chrono::hours(1), 100);
    if (!allowed(store.get(), limit, "a")) return 1;
    struct sigaction hosts {};
    hosts.sa_handler = pass_on;
    hosts.sa_flags = SA_NODEFER;
    sigaction(SIGBUS, &hosts, &g_ours);
    if (truncate(file.path().c_str(), 4096) != 0) return 2;
    return failure(store.get(), limit, "a") == "shm_lost" ? 0 : 3;
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace limitree
