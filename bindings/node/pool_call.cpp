#include "pool_call.hpp"

#include <memory>
#include <utility>

#include "limitree.hpp"

namespace limitree::node {

namespace {

class PoolCall final : public Napi::AsyncWorker {
 public:
  PoolCall(Native& native, PoolFunction function)
      : AsyncWorker(native.environment().env(), "limitree"),
        native_(native.shared_from_this()),
        function_(std::move(function)),
        promise_(native.environment().env()) {
    native_->begin_pool_call();
  }

  Napi::Promise promise() const { return promise_.Promise(); }

 protected:
  void Execute() override {
    limitree_error* error = nullptr;
    status_ = function_(native_->engine(), &number_, &error);
    error_.reset(error);
  }

  void OnOK() override {
    native_->end_pool_call();
    if (status_ >= 0) {
      promise_.Resolve(Napi::Number::New(Env(), number_));
      return;
    }
    const limitree::Error error = limitree::Error::from(status_, error_.get());
    promise_.Reject(native_->environment().error_value(
        error.status(), error.reason(), error.messages()));
  }

 private:
  const std::shared_ptr<Native> native_;
  const PoolFunction function_;
  Napi::Promise::Deferred promise_;
  limitree_status status_ = LIMITREE_OK;
  double number_ = 0;
  ErrorHandle error_;
};

}  // namespace

Napi::Promise run_in_pool(Native& native, PoolFunction function) {
  auto* const call = new PoolCall(native, std::move(function));
  const Napi::Promise promise = call->promise();
  call->Queue();  // deletes itself afterwards
  return promise;
}

}  // namespace limitree::node
