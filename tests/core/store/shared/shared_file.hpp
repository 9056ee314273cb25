// A file of shm:// in a folder of its own, and stores that open it.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/plan.hpp"
#include "core/store/temporary_folder.hpp"
#include "store/shared/shared_store.hpp"

namespace limitree {

class SharedFile {
 public:
  explicit SharedFile(std::int64_t max_buckets = 1000, Clock clock = Clock()) {
    settings.url.path = folder_.path() + "/limits";
    settings.max_buckets = max_buckets;
    settings.clock = clock;
    // Whoever holds a lock may get no processor for a while.
    settings.timeout = std::chrono::seconds(10);
  }

  const std::string& path() const { return settings.url.path; }
  const std::string& folder() const { return folder_.path(); }

  std::unique_ptr<SharedStore> open() const {
    Result<std::unique_ptr<Store>> store = SharedStore::open(settings);
    if (!store.ok()) {
      ADD_FAILURE() << store.status().error().messages[0];
      return nullptr;
    }
    return std::unique_ptr<SharedStore>(
        static_cast<SharedStore*>(store.value().release()));
  }

  // Why it cannot be opened; empty if it can.
  std::string error() const {
    Result<std::unique_ptr<Store>> store = SharedStore::open(settings);
    return store.ok() ? "" : store.status().error().messages[0];
  }

  SharedStore::Settings settings;

 private:
  TemporaryFolder folder_{"shm"};
};

// A request for one bucket; what the store says of itself is not ok counts as
// denied.
inline bool allowed(Store* store, const Limit& limit, const std::string& name) {
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back(name, Segment::Kind::kCaller);
  plan.add_level(&limit, 0u, 1u, 1);
  return store->decide(&plan).ok() && !plan.levels[0].verdict.limited;
}

// The reason of a request that fails; empty if it does not.
inline std::string failure(Store* store, const Limit& limit,
                           const std::string& name) {
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back(name, Segment::Kind::kCaller);
  plan.add_level(&limit, 0u, 1u, 1);
  const Status status = store->decide(&plan);
  return status.ok() ? "" : status.error().reason;
}

}  // namespace limitree
