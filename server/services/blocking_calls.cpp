#include "services/blocking_calls.hpp"

#include <utility>

namespace limitree::server {

namespace {

constexpr std::size_t kMaxWaiting = 1000;

}  // namespace

class BlockingCalls::Link final : public CallState {
 public:
  explicit Link(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  ~Link() override { job_->call = nullptr; }

 private:
  std::shared_ptr<Job> job_;
};

BlockingCalls::~BlockingCalls() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    jobs_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void BlockingCalls::run(Call* call, std::function<GrpcStatus()> work) {
  const auto job = std::make_shared<Job>(Job{std::move(work), call});
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() < kMaxWaiting) {
      jobs_.push_back(job);
      call->keep(std::make_unique<Link>(job));
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { work_on(); });
  }
  if (call->state() == nullptr) {
    call->finish({GrpcCode::kResourceExhausted, "too many calls wait"});
    return;
  }
  changed_.notify_one();
}

void BlockingCalls::work_on() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    if (ends_) return;
    const std::shared_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    GrpcStatus status = job->work();
    loop_->post(
        [job, status = std::move(status)] { finish(job.get(), status); });
    lock.lock();
  }
}

void BlockingCalls::finish(Job* job, GrpcStatus status) {
  Call* const call = job->call;
  if (call == nullptr) return;
  if (status.code == GrpcCode::kOk) {
    call->begin_message();
    call->end_message();
  }
  call->finish(std::move(status));
}

}  // namespace limitree::server
