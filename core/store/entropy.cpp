#include "store/entropy.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace limitree {

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// For systems on which the call is forbidden or unknown.
bool read_device(std::uint64_t* word) {
  const std::unique_ptr<std::FILE, Close> file(
      std::fopen("/dev/urandom", "rbe"));
  return file != nullptr && std::fread(word, sizeof *word, 1, file.get()) == 1;
}

}  // namespace

std::uint64_t random_word() {
  std::uint64_t word = 0;
  if (getentropy(&word, sizeof word) == 0) return word;
  const int error = errno;
  if (read_device(&word)) return word;
  throw std::system_error(error, std::generic_category(), "random numbers");
}

}  // namespace limitree
