// Processes of a test, and memory that they share with it.

#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace limitree {

// A child process, killed at the latest when this is destroyed.
class ChildProcess {
 public:
  template <typename Body>  // returns its exit status
  explicit ChildProcess(Body body) : process_(fork()) {
    if (process_ == 0) _exit(body());
    if (process_ < 0) throw std::runtime_error("no more processes");
  }
  ChildProcess(ChildProcess&& other) noexcept
      : process_(std::exchange(other.process_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(process_, other.process_);
    return *this;
  }
  ~ChildProcess() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    wait();
  }

  pid_t number() const { return process_; }
  // REQUIRES: it has not been waited for.
  void send(int signal) const { kill(process_, signal); }
  // Returns its exit status, or 1000 and the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(std::exchange(process_, -1), &status, 0);
    return outcome_of(status);
  }
  // The same if it has ended.
  std::optional<int> ended() {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
    process_ = -1;
    return outcome_of(status);
  }
  void wait_until_stopped() const { waitpid(process_, nullptr, WUNTRACED); }

 private:
  static int outcome_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  pid_t process_;
};

// Memory that children share with the test.
template <typename T>
class CommonMemory {
 public:
  CommonMemory() {
    void* const place = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    value_ = new (place) T();
  }
  ~CommonMemory() { munmap(value_, sizeof(T)); }
  CommonMemory(const CommonMemory&) = delete;
  CommonMemory& operator=(const CommonMemory&) = delete;
  T* operator->() { return value_; }

 private:
  T* value_;
};

}  // namespace limitree
