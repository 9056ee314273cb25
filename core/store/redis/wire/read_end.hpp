// A copy of a connection's socket, for a thread that waits there for an answer.
//
// The connection belongs to all threads, and one of them may close it at any
// moment; the number of its descriptor may then be another file's.  The copy
// stays what it is as long as somebody holds it.

#ifndef LIMITREE_STORE_REDIS_WIRE_READ_END_HPP
#define LIMITREE_STORE_REDIS_WIRE_READ_END_HPP

#include "store/redis/facts/health.hpp"

namespace limitree::redis {

// Whether there is something to do for `fd` before `deadline`.
bool wait_for(int fd, bool write, Monotonic deadline);

class ReadEnd {
 public:
  // Of `socket`, whose owner has to say with each call that it will not wait.
  // Who waits there does so for a `beat`, as a rule.
  ReadEnd(int socket, Duration beat);
  ~ReadEnd() { close(); }
  ReadEnd(const ReadEnd&) = delete;
  ReadEnd& operator=(const ReadEnd&) = delete;

  // Whether the copy could be made.
  bool valid() const { return fd_ != -1; }

  // Whether there is something to read before `until`.
  bool wait(Monotonic until) const;

  // Ends the connection, and with it every wait().
  void hang_up() const;

  // In the child of a fork(): whoever held it there is no more.
  void close();

 private:
  int fd_;
  const Duration beat_;
  bool blocks_ = false;  // recv() waits, for beat_
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_READ_END_HPP
