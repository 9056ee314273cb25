// Requests of Envoy that do not wait for their store.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "base/inline_vector.hpp"
#include "base/recycled.hpp"
#include "limiter/envoy.hpp"
#include "limiter/limiter.hpp"

namespace limitree {

// A request, everything that it borrows, and its two plans.  They are asked for
// at the same time, and may be answered by another thread at once.
class Limiter::PendingEnvoyRequest final
    : public Recycled<PendingEnvoyRequest, 256> {
 public:
  PendingEnvoyRequest(Limiter* limiter, Listener* listener)
      : limiter_(*limiter),
        listener_(*listener),
        snapshot_(limiter->current()),
        one_(limiter, *snapshot_),
        hits_(Operation::kAuthorize, this),
        refunds_(Operation::kRefund, this) {}

  void copy(const DescriptorRequest& request);

  Status prepare(bool wants_metadata) {
    answer_.wants_metadata = wants_metadata;
    return one_.prepare(request_, &hits_.plan(), &refunds_.plan(), &answer_);
  }

  // Asks the store.  Returns whether both plans are decided.
  //
  // Once the hits are under way, nothing may be thrown: they refer to this.
  bool ask() {
    Status no_memory;
    if (!refunds_.plan().levels.empty()) {
      no_memory = Status(Code::kOutOfMemory, "no memory to give hits back");
    }
    ask(&hits_);
    try {
      ask(&refunds_);
    } catch (const std::bad_alloc&) {
      refunds_.status = std::move(no_memory);
      close();
    }
    return close();
  }

  // Once both are decided.
  Status finish(EnvoyAnswer* answer) {
    Status status = hits_.status.ok() ? std::move(refunds_.status)
                                      : std::move(hits_.status);
    if (status.ok()) {
      one_.finish(hits_.plan(), refunds_.plan(), answer);
    } else {
      one_.failed(refunds_.plan());
    }
    count(status, *answer);
    return status;
  }

  void count(const Status& status, const EnvoyAnswer& answer) {
    Reader reader(&limiter_);
    one_.count(status, answer, &reader.stripe());
  }

 private:
  class Part final : public Pending {
   public:
    Part(Operation operation, PendingEnvoyRequest* owner)
        : Pending(Kind::kDecide, operation, owner->listener_.loop()),
          owner_(*owner) {}

    Status status;

   private:
    void finished(Status outcome) override {
      status = std::move(outcome);
      if (owner_.close()) owner_.deliver();
    }

    PendingEnvoyRequest& owner_;
  };

  void ask(Part* part) {
    if (part->plan().levels.empty()) return;
    open_.fetch_add(1, std::memory_order_relaxed);
    if (limiter_.store_->decide_async(part, &part->status)) close();
  }

  // Returns whether nothing is open any more.
  bool close() { return open_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  void deliver() {
    const std::unique_ptr<PendingEnvoyRequest> self(this);
    Status status = finish(&answer_);
    listener_.answered(std::move(status), &answer_);
  }

  Limiter& limiter_;
  Listener& listener_;
  const std::shared_ptr<const Snapshot> snapshot_;
  InlineVector<char, 256> text_;
  InlineVector<Entry, 8> entries_;
  InlineVector<RequestDescriptor, 4> descriptors_;
  DescriptorRequest request_;
  EnvoyAnswer answer_;
  EnvoyRequest one_;
  Part hits_;
  Part refunds_;
  // Plans without an answer, and whoever asks about them.
  std::atomic<int> open_{1};
};

void Limiter::PendingEnvoyRequest::copy(const DescriptorRequest& request) {
  std::size_t bytes = request.domain.size();
  std::size_t count = 0;
  for (const RequestDescriptor& asked : request.descriptors) {
    count += asked.entries.size();
    for (const Entry& entry : asked.entries) {
      bytes += entry.key.size() + entry.value.size();
    }
  }
  text_.resize(bytes);
  entries_.resize(count);
  char* end = text_.data();
  const auto kept = [&end](std::string_view text) {
    const char* const begin = end;
    end = std::copy(text.begin(), text.end(), end);
    return std::string_view(begin, text.size());
  };
  request_.domain = kept(request.domain);
  request_.hits_addend = request.hits_addend;
  Entry* entry = entries_.data();
  for (const RequestDescriptor& from : request.descriptors) {
    RequestDescriptor& asked = descriptors_.emplace_back(from);
    asked.entries = {entry, from.entries.size()};
    for (const Entry& one : from.entries) {
      *entry++ = {kept(one.key), kept(one.value)};
    }
  }
  request_.descriptors = {descriptors_.data(), descriptors_.size()};
}

bool Limiter::should_rate_limit_async(const DescriptorRequest& request,
                                      EnvoyAnswer* answer, Listener* listener,
                                      Status* status) {
  if (!may_wait_) {
    *status = should_rate_limit(request, answer);
    return true;
  }
  auto pending = std::make_unique<PendingEnvoyRequest>(this, listener);
  pending->copy(request);
  *status = pending->prepare(answer->wants_metadata);
  if (!status->ok()) {
    pending->count(*status, *answer);
    return true;
  }
  if (!pending->ask()) {
    pending.release();  // deletes itself when it is answered
    return false;
  }
  answer->statuses.resize(request.descriptors.size());
  *status = pending->finish(answer);
  return true;
}

}  // namespace limitree
