#include "decisions/undo.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "decisions/pending.hpp"

namespace limitree::server {

namespace {

// A request whose answer nobody wants.
class PendingUndo final : public PendingRequest {
 public:
  explicit PendingUndo(StoreLoop* loop) : PendingRequest(loop, kNever) {}

  void complete(const limitree_completion& /*completion*/) override {}
  void fail() override {}

  limitree_envoy_response* response() { return &response_; }

 private:
  limitree_envoy_response response_{};
};

}  // namespace

void Undo::cancel(const std::string& receipt) {
  const ReceiptHandle read = read_receipt(receipt, nullptr);
  if (read == nullptr) return;
  start(store_loop_, std::make_unique<PendingUndo>(store_loop_),
        [&](void* user, limitree_decision* decision, limitree_error** error) {
          std::size_t count = 0;
          const limitree_path* const paths =
              limitree_receipt_paths(read.get(), &count);
          return limitree_cancel_async(limiter_,
                                       limitree_receipt_hold(read.get()), paths,
                                       count, user, decision, error);
        });
}

// The same request again, as one that has ended and has used nothing.  Limits
// that hold nothing get 0 hits back.
void Undo::settle(limitree_envoy_request asked) {
  std::vector<limitree_descriptor> descriptors(
      asked.descriptors, asked.descriptors + asked.descriptor_count);
  for (limitree_descriptor& descriptor : descriptors) {
    descriptor.flags |= LIMITREE_NEGATIVE_HITS | LIMITREE_HAS_HITS_ADDEND;
    descriptor.hits_addend = 0;
  }
  asked.descriptors = descriptors.data();
  auto pending = std::make_unique<PendingUndo>(store_loop_);
  limitree_envoy_response* const response = pending->response();
  start(
      store_loop_, std::move(pending),
      [&](void* user, limitree_decision* /*decision*/, limitree_error** error) {
        return limitree_should_rate_limit_async(limiter_, &asked, user, nullptr,
                                                0, response, error);
      });
}

void EnvoyRollback::run() {
  const std::shared_ptr<Undo> undo = undo_.lock();
  if (undo == nullptr || source_.empty()) return;
  list_->read(source_);
  undo->settle(list_->get());
}

void ReceiptRollback::run() {
  if (const std::shared_ptr<Undo> undo = undo_.lock()) undo->cancel(receipt_);
}

}  // namespace limitree::server
