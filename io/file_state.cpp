#include "io/file_state.hpp"

#include <sys/stat.h>

namespace limitree::server {

std::string file_state(const std::string& file) {
  struct stat found {};
  if (file.empty() || stat(file.c_str(), &found) != 0) return "-";
  std::string state;
  for (const auto number : {static_cast<long long>(found.st_dev),
                            static_cast<long long>(found.st_ino),
                            static_cast<long long>(found.st_size),
                            static_cast<long long>(found.st_mtim.tv_sec),
                            static_cast<long long>(found.st_mtim.tv_nsec)}) {
    state += std::to_string(number) + ' ';
  }
  return state;
}

}  // namespace limitree::server
