// Where a thread waits for an answer while others use the connection.

#pragma once

#include <chrono>

#include "io/fd.hpp"
#include "io/timer.hpp"

namespace limitree::remote {

// A copy of a connection's socket, for a thread that waits there for an answer.
//
// The connection belongs to all threads, and any of them may close it at any
// moment; the number of its descriptor may then belong to another file.  The
// copy stays valid as long as a thread holds it.
class ReadEnd {
 public:
  // How long a thread that blocks waits at a time, as a rule.
  static constexpr Duration kBeat = std::chrono::milliseconds(10);

  // Of `socket`, whose owner says with each call that it does not wait.
  explicit ReadEnd(int socket);
  ReadEnd(const ReadEnd&) = delete;
  ReadEnd& operator=(const ReadEnd&) = delete;

  // Whether the copy could be made.
  bool valid() const { return static_cast<bool>(fd_); }

  // Whether there is something to read before `until`.
  bool wait(Monotonic until) const;

  // Ends the connection, and with it every wait().
  void hang_up() const;

  // In the child of a fork(): its holders are threads of the parent.
  void close() { fd_.reset(); }

 private:
  Fd fd_;
  bool blocks_ = false;  // recv() waits, for about kBeat
};

}  // namespace limitree::remote
