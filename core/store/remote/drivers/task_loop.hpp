// A loop that carries tasks to their end for callers that do not block.

#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "base/time.hpp"
#include "store/remote/route/task.hpp"
#include "store/store.hpp"

namespace limitree::remote {

// A task, and what to do when it has finished.
class AsyncTask {
 public:
  virtual ~AsyncTask() = default;
  virtual Task* task() = 0;  // the same each time

  // Set when it is handed back: ok if the task has come to its end, and holds
  // the result; else kCancelled, or why nothing can be started.
  Status status;
};

class TaskLoop : public StoreLoop {
 public:
  // Called with each task exactly once, from within run() or the end of the
  // loop, or from within start() if nothing can be started any more.  May take
  // the tasks, and may start new ones; must not close or destroy the loop.
  using Finished = std::function<void(std::span<std::unique_ptr<AsyncTask>>)>;

  // Whether its host can learn that run() is due.
  virtual bool can_wake() { return fd() >= 0; }

  // Carries the tasks through to their end, within `time` from the next run()
  // on; the delay of a later run() is added to that.  Takes all of them, or
  // throws.  From any thread.
  virtual void start(std::span<std::unique_ptr<AsyncTask>> tasks,
                     Duration time) = 0;
};

}  // namespace limitree::remote
