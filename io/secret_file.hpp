// Files that hold one secret, such as a password or a token, and nothing else:
// what Kubernetes, Docker and Vault put beside a process.

#pragma once

#include <cstddef>
#include <string>

namespace limitree {

// Tokens of clouds have a few KiB.
inline constexpr std::size_t kMaxSecret = std::size_t{64} << 10U;

// The only line of the file, without its end.  Never waits: only regular files
// are read.  Throws Failure, which names the file and never shows its content.
std::string read_secret(const std::string& file);

}  // namespace limitree
