// What can go wrong, as values: Code, Error, Status and Result<T>.
//
// A denied request is not an error and never appears here.  The numbers of Code
// equal those of capi/limitree.h, which checks that.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace limitree {

enum class Code : std::int32_t {
  kOk = 0,
  kPending = 1,
  kInvalidArgument = -1,
  kInvalidConfig = -2,
  kOutOfMemory = -3,
  kStoreUnavailable = -4,
  kStoreTimeout = -5,
  kStoreProtocol = -6,
  kCancelled = -7,
  kUnknownRoot = -8,
  kInternal = -9,
};

// Why a call failed.  A limits.yaml with several mistakes has one message for
// each, in the order of the file; all else has exactly one message.
struct Error {
  Code code;
  std::vector<std::string> messages;  // one line each, never empty
  // The kind of failure of a store, as one word: "readonly".  Static storage;
  // empty for all other errors.
  const char* reason = "";
  bool is_static = false;  // one of those of Status, which nobody deletes
};

// Success, or an Error.  Success costs one null pointer.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : error_(new Error{code, {std::move(message)}, ""}) {}
  explicit Status(Error error) : error_(new Error(std::move(error))) {
    error_->is_static = false;
  }

  // These allocate nothing, so that what ends can say why without memory.
  static Status no_memory() noexcept;          // kOutOfMemory
  static Status limiter_is_closed() noexcept;  // kCancelled

  bool ok() const { return error_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : error_->code; }

  // REQUIRES: !ok().
  const Error& error() const { return *error_; }
  const std::string& message() const { return error_->messages.front(); }

 private:
  // Not inlined, so that the destructor of success is.
  struct DeleteError {
    [[gnu::cold, gnu::noinline]] void operator()(const Error* error) const {
      if (!error->is_static) delete error;
    }
  };

  explicit Status(Error* error) noexcept : error_(error) {}

  std::unique_ptr<Error, DeleteError> error_;
};

// A mistake in what somebody configured.
inline Status invalid_config(std::string what) {
  return Status(Code::kInvalidConfig, std::move(what));
}

// A T, or the reason why there is no T.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit

  bool ok() const { return value_.has_value(); }
  Status& status() { return status_; }

  // REQUIRES: ok().
  T& value() { return *value_; }
  const T& value() const { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace limitree
