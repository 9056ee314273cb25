// Scripts, found by what they are made of: a table that only grows, so that it
// needs no lock.

#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/wire/resp.hpp"
#include "store/siphash.hpp"

namespace limitree::redis {

class ScriptTable {
 public:
  // Has room for `most` scripts; more are not made.
  explicit ScriptTable(std::size_t most) : most_(most), slots_(2 * most + 1) {}
  ~ScriptTable() {
    for (const std::atomic<const Entry*>& slot : slots_) delete slot.load();
  }
  ScriptTable(const ScriptTable&) = delete;
  ScriptTable& operator=(const ScriptTable&) = delete;

  // Null if there is no room for it.  Requests bring names of fields, which are
  // in signatures.
  template <typename Make>
  const Script* get(const std::string& signature, Make make) {
    std::size_t at = keyed_hash(signature) % slots_.size();
    const Entry* mine = nullptr;
    for (;; at = (at + 1) % slots_.size()) {
      const Entry* found = slots_[at].load(std::memory_order_acquire);
      if (found == nullptr && mine == nullptr) {
        if (count_.fetch_add(1, std::memory_order_relaxed) >= most_) {
          count_.fetch_sub(1, std::memory_order_relaxed);
          return nullptr;
        }
        mine = new Entry{signature, make()};
      }
      if (found == nullptr && slots_[at].compare_exchange_strong(
                                  found, mine, std::memory_order_acq_rel)) {
        return &mine->script;
      }
      if (found->signature == signature) {
        if (mine != nullptr) {  // another thread was faster
          count_.fetch_sub(1, std::memory_order_relaxed);
          delete mine;
        }
        return &found->script;
      }
    }
  }

 private:
  struct Entry {
    std::string signature;
    Script script;
  };

  const std::size_t most_;
  std::vector<std::atomic<const Entry*>> slots_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace limitree::redis
