#include "io/file_state.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "io/failure.hpp"

namespace limitree {

std::string file_state(const std::string& file) {
  struct stat found {};
  if (file.empty()) return {};
  if (stat(file.c_str(), &found) != 0) return error_text(errno);
  std::string state;
  for (const auto number : {static_cast<long long>(found.st_dev),
                            static_cast<long long>(found.st_ino),
                            static_cast<long long>(found.st_size),
                            // The time of the last change of the content, the
                            // owner or the permissions.
                            static_cast<long long>(found.st_ctim.tv_sec),
                            static_cast<long long>(found.st_ctim.tv_nsec)}) {
    state += std::to_string(number) + ' ';
  }
  return state;
}

}  // namespace limitree
