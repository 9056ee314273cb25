// Buckets in a file that all processes of a machine map: shm://.
//
// The decisions are those of buckets/bucket_shards.hpp, as in memory;
// layout.hpp shows the file.  A process may be killed at any instruction, and
// any process may be stopped: shared_memory.hpp says what the others do.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/status.hpp"
#include "store/buckets/bucket_shards.hpp"
#include "store/clock.hpp"
#include "store/shared/shared_memory.hpp"
#include "store/shared/shared_url.hpp"
#include "store/store.hpp"

namespace limitree {

extern template class BucketShards<shared::SharedMemory>;

class SharedStore final : public Store {
 public:
  struct Settings {
    shared::SharedUrl url;
    // For a file that is made: as MemoryStore has them; the URL's come first.
    std::int64_t max_buckets = 1'000'000;
    std::int64_t max_bytes = 0;
    Duration timeout = std::chrono::milliseconds(50);
    Clock clock;  // used if it is the caller's
  };

  // Opens the file, or makes it.  kStoreUnavailable, with a text that says what
  // is wrong, if neither can be done.
  static Result<std::unique_ptr<Store>> open(const Settings& settings);

  SharedStore(std::unique_ptr<shared::MappedFile> file,
              std::unique_ptr<shared::OwnProcessSlot> slot,
              const Settings& settings, Clock clock);

  bool is_shared() const override { return true; }
  Status decide(Plan* plan) override;
  std::unique_ptr<StoreLoop> new_loop() override;
  bool start(Pending* pending, Status* status) override;
  Status reset(const Plan& plan) override;
  Status ping() override;
  StoreStats stats() override;

  std::optional<StoreFile> file() override;

  shared::SharedMemory& memory() { return shards_.memory(); }

 private:
  // Decides or resets, and returns true, unless it would have to wait.
  bool try_at_once(Pending* pending, Status* status);
  Status lost();

  BucketShards<shared::SharedMemory> shards_;
};

}  // namespace limitree
