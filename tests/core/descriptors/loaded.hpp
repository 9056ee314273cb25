// Descriptors from text, for the tests of this folder.

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "descriptors/descriptors.hpp"

namespace limitree {

using Strings = std::vector<std::string>;

inline std::vector<DescriptorFile> files_of(const Strings& yamls,
                                            const Strings& names,
                                            bool merges = false) {
  std::vector<DescriptorFile> files;
  for (std::size_t i = 0; i < yamls.size(); ++i) {
    files.push_back({yamls[i], names[i], merges});
  }
  return files;
}

inline Descriptors loaded(std::string_view yaml) {
  const DescriptorFile file{yaml, "d.yaml"};
  Result<Descriptors> descriptors = load_descriptors({&file, 1});
  if (!descriptors.ok()) {
    ADD_FAILURE() << descriptors.status().error().messages.front();
    return {};
  }
  return std::move(descriptors.value());
}

// What is wrong with one file.
inline Strings mistakes(std::string_view yaml) {
  const DescriptorFile file{yaml, "d.yaml"};
  Result<Descriptors> descriptors = load_descriptors({&file, 1});
  if (descriptors.ok()) return {};
  EXPECT_EQ(descriptors.status().code(), Code::kInvalidConfig);
  return descriptors.status().error().messages;
}

}  // namespace limitree
