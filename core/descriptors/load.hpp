// From the files of envoyproxy/ratelimit to Descriptors.

#ifndef LIMITREE_DESCRIPTORS_LOAD_HPP
#define LIMITREE_DESCRIPTORS_LOAD_HPP

#include <span>
#include <string_view>

#include "base/status.hpp"
#include "descriptors/descriptors.hpp"

namespace limitree {

// One file; messages begin with its name.
struct DescriptorFile {
  std::string_view yaml;
  std::string_view name;
  bool merges = false;  // it may add to a domain of a file before it
};

// kInvalidConfig with a message for each mistake of each file, in their order:
// "d.yaml:7:9: invalid rate limit unit 'minutes'".
Result<Descriptors> load_descriptors(std::span<const DescriptorFile> files);

}  // namespace limitree

#endif  // LIMITREE_DESCRIPTORS_LOAD_HPP
