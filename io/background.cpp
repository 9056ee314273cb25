#include "io/background.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "io/signals_blocked.hpp"
#include "io/trouble.hpp"

namespace limitree {

namespace {

constexpr std::chrono::seconds kPatience(3);

// Work that throws begins again after a second.
void run_until_end(const std::function<void(Background::Signal&)>& run,
                   Background::Signal* signal) {
  while (!guarded([&] { run(*signal); })) {
    if (!signal->wait_until(after(steady_now(), kOneSecond))) return;
  }
}

}  // namespace

bool Background::Signal::wait_until(Monotonic at) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, at, [this] { return woken_ || ending_; });
  woken_ = false;
  return !ending_;
}

bool Background::Signal::is_ending() {
  const std::lock_guard lock(mutex_);
  return ending_;
}

Background::Background(std::function<void(Signal&)> run)
    : signal_(std::make_shared<Signal>()) {
  const SignalsBlocked blocked;
  std::thread([signal = signal_, run = std::move(run)]() mutable {
    run_until_end(run, signal.get());
    run = nullptr;  // before the owner goes on
    const std::lock_guard lock(signal->mutex_);
    signal->ended_ = true;
    signal->changed_.notify_all();
  }).detach();
}

Background::~Background() {
  std::unique_lock lock(signal_->mutex_);
  signal_->ending_ = true;
  signal_->changed_.notify_all();
  signal_->changed_.wait_for(lock, kPatience,
                             [this] { return signal_->ended_; });
}

void Background::wake() {
  const std::lock_guard lock(signal_->mutex_);
  signal_->woken_ = true;
  signal_->changed_.notify_all();
}

std::unique_ptr<Background> run_each(
    Duration interval, std::function<void(Background::Signal&)> work) {
  interval = std::max(interval, kMillisecond);
  return std::make_unique<Background>(
      [interval, work = std::move(work)](Background::Signal& signal) {
        Monotonic next = after(steady_now(), interval);
        while (signal.wait_until(next)) {
          work(signal);
          if (signal.is_ending()) return;
          next = std::max(after(next, interval), steady_now());
        }
        work(signal);
      });
}

}  // namespace limitree
