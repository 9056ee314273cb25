// A process that can open hardly any more files.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <system_error>

#include "io/fd.hpp"

namespace limitree {

// While it lives, at most `room` descriptors can be opened.  A sanitizer needs
// some when it first meets an object of a class with virtual functions: the
// test meets one of each class before.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int room) {
    EXPECT_FALSE(std::system_category().message(EMFILE).empty());
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const Fd next_free(open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(next_free.get() + room);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace limitree
