// The special scripts of a process, found by what they are made of: a table
// that only grows, so that it needs no lock.

#ifndef LIMITREE_STORE_REDIS_SCRIPT_SCRIPT_TABLE_HPP
#define LIMITREE_STORE_REDIS_SCRIPT_SCRIPT_TABLE_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "store/redis/script/special_script.hpp"

namespace limitree::redis {

class ScriptTable {
 public:
  template <typename Make>
  const Script* get(const std::string& signature, Make make) {
    std::size_t at = std::hash<std::string_view>()(signature) % kSlots;
    const Entry* mine = nullptr;
    for (;; at = (at + 1) % kSlots) {
      const Entry* found = slots_[at].load(std::memory_order_acquire);
      if (found == nullptr && mine == nullptr) {
        if (count_.fetch_add(1, std::memory_order_relaxed) >=
            kMaxSpecialScripts) {
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
  static constexpr std::size_t kSlots = 2 * kMaxSpecialScripts;

  std::array<std::atomic<const Entry*>, kSlots> slots_{};
  std::atomic<std::size_t> count_{0};
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_SCRIPT_SCRIPT_TABLE_HPP
