// Waits for what other processes are about to do.

#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace limitree {

// Returns as soon as `condition` holds.  Throws an error that names `what` if
// it does not hold within a minute, long enough for a busy machine.
inline void await(const std::string& what,
                  const std::function<bool()>& condition) {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("timed out waiting for: " + what);
    }
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace limitree
