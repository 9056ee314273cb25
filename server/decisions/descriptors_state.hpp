// Whether requests of Envoy can be answered.

#ifndef LIMITREE_SERVER_DECISIONS_DESCRIPTORS_STATE_HPP
#define LIMITREE_SERVER_DECISIONS_DESCRIPTORS_STATE_HPP

#include <atomic>
#include <cstdint>

namespace limitree::server {

// May be used from any thread.
class DescriptorsState {
 public:
  static constexpr const char* kMissing = "no rate limit configuration loaded";

  // There will be descriptors, which cannot be read yet.
  void miss() { missing_.store(true, std::memory_order_relaxed); }
  void loaded() { missing_.store(false, std::memory_order_relaxed); }

  bool are_missing() const { return missing_.load(std::memory_order_relaxed); }

  // A request is answered with kMissing.
  void count_refusal() { refusals_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t refusals() const {
    return refusals_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> missing_{false};
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_DECISIONS_DESCRIPTORS_STATE_HPP
