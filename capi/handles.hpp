// The opaque handles of limitree.h, and the boundary that no exception crosses:
// here, and only here, each becomes a status.

#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "descriptors/descriptors.hpp"
#include "limiter/limiter.hpp"
#include "limiter/options.hpp"
#include "limitree.h"
#include "store/fork_guard.hpp"
#include "store/store.hpp"
#include "tree/schema.hpp"
#include "tree/tree.hpp"

struct limitree_error {
  const limitree::Error* error;  // owned; null: no memory for it
};

struct limitree_text {
  std::string text;
  std::vector<std::string> warnings = {};
};

namespace limitree::capi {

// One of the texts of a config, and its name for messages.
struct OwnedText {
  std::string text;
  std::string name;
  bool merges = false;  // see DescriptorFile
};

}  // namespace limitree::capi

struct limitree_config {
  limitree::Options options;
  std::vector<limitree::capi::OwnedText> limits;  // texts of `tree`
  std::shared_ptr<const limitree::Tree> tree =
      std::make_shared<const limitree::Tree>();
  std::vector<limitree::capi::OwnedText> files;  // of `descriptors`
  std::shared_ptr<const limitree::Descriptors> descriptors =
      std::make_shared<const limitree::Descriptors>();
  limitree_completion_fn on_completion = nullptr;
  std::shared_ptr<void> completion_data;
};

namespace limitree::capi {

class AsyncCall;

// What all handles of one limiter have in common.
struct SharedLimiter {
  SharedLimiter(const limitree_config& config,
                std::unique_ptr<limitree::Store> store)
      : on_completion(config.on_completion),
        completion_data(config.completion_data),
        limiter(config.tree, config.options, std::move(store),
                config.descriptors) {}

  const limitree_completion_fn on_completion;
  const std::shared_ptr<void> completion_data;
  Limiter limiter;
};

}  // namespace limitree::capi

// A handle of a limiter, with a loop of its own.
struct limitree_limiter final : private limitree::ForkGuard {
  // `user_data` is for its completions.
  limitree_limiter(std::shared_ptr<limitree::capi::SharedLimiter> of,
                   void* user_data)
      : shared(std::move(of)),
        limiter(shared->limiter),
        completion_data(user_data),
        loop(limiter.new_loop()) {
    watch_forks();
  }
  ~limitree_limiter() override;

  const std::shared_ptr<limitree::capi::SharedLimiter> shared;
  limitree::Limiter& limiter;
  void* const completion_data;
  // Calls answered since the last delivery, newest first.  Only the thread that
  // runs the loop uses it.
  limitree::capi::AsyncCall* answered = nullptr;
  // Null if nothing is ever pending, and from the destructor on.
  std::unique_ptr<limitree::StoreLoop> loop;

 private:
  void before_fork() override {}
  void after_fork() override {}
  // The parent delivers the answers.
  void after_fork_in_child() override { answered = nullptr; }
};

namespace limitree::capi {

// Passes a text to the caller, who frees it, or says why there is none.
inline Status give(Result<std::string> made, limitree_text** text,
                   std::vector<std::string> warnings = {}) {
  if (!made.ok()) return std::move(made.status());
  *text = new limitree_text{std::move(made.value()), std::move(warnings)};
  return {};
}

// Passes `status` to the caller, who frees *error.
limitree_status give(Status status, limitree_error** error) noexcept;

// The same if there is no memory for a message.
limitree_status give_out_of_memory(limitree_error** error) noexcept;

// Thrown for an argument that a C caller must not leave out.
struct NullArgument {
  Status status;
};
[[noreturn]] void refuse_null(const char* name);

// Whether a number of limitree.h equals that of the core.
template <typename T>
constexpr bool same(int number, T core) {
  return number == static_cast<int>(core);
}

inline bool is_given(limitree_str text) {
  return text.data != nullptr || text.size == 0;
}
template <typename T>
bool is_given(T* pointer) {
  return pointer != nullptr;
}
inline bool is_given(bool given) { return given; }

// Throws for the first argument that is not given.  Each is followed by its
// name: require(limiter, "limiter", yaml, "yaml.data").
inline void require() {}
template <typename T, typename... More>
void require(T argument, const char* name, More... more) {
  if (!is_given(argument)) refuse_null(name);
  require(more...);
}

// REQUIRES: is_given(text).
inline std::string_view view(limitree_str text) {
  return {text.data, text.size};
}

// The data of a function of the caller's, until nothing needs it any more.
inline std::shared_ptr<void> owned(void* user_data,
                                   void (*free_user_data)(void* user_data)) {
  return {user_data, [free_user_data](void* data) {
            if (free_user_data != nullptr) free_user_data(data);
          }};
}

// Runs `body`, which returns a Status, as a whole C function.  Always inlined:
// each body has one caller.
template <typename Body>
[[gnu::always_inline]] inline limitree_status guarded(limitree_error** error,
                                                      Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    Status status = std::forward<Body>(body)();
    return status.ok() ? LIMITREE_OK : give(std::move(status), error);
  } catch (NullArgument& argument) {
    return give(std::move(argument.status), error);
  } catch (const std::bad_alloc&) {
    return give_out_of_memory(error);
  } catch (const std::exception& exception) {
    return give(Status(Code::kInternal, exception.what()), error);
  } catch (...) {
    return give(Status(Code::kInternal, "unknown exception"), error);
  }
}

}  // namespace limitree::capi
