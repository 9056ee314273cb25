#include "services/blocking_calls.hpp"

#include <utility>

namespace limitree::server {

namespace {

constexpr std::size_t kMaxWaiting = 1000;

}  // namespace

BlockingCalls::~BlockingCalls() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    jobs_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<BlockingCalls::Ticket> BlockingCalls::run(Work work,
                                                          Done done) {
  const auto job = std::make_shared<Job>(Job{std::move(work), std::move(done)});
  auto ticket = std::make_unique<Ticket>(job);
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= kMaxWaiting) return nullptr;
    jobs_.push_back(job);
    if (!thread_.joinable()) thread_ = std::thread([this] { work_on(); });
  }
  changed_.notify_one();
  return ticket;
}

void BlockingCalls::work_on() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    if (ends_) return;
    std::shared_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    BlockingResult result = job->work();
    loop_->post([job = std::move(job), result = std::move(result)] {
      // A copy: what is called destroys the ticket.
      const Done done = job->done;
      if (done) done(result);
    });
    lock.lock();
  }
}

}  // namespace limitree::server
