// Files of limits and of descriptors.

#pragma once

#include <string>
#include <vector>

#include "config/settings.hpp"

namespace limitree::server {

// The text of a file, or of a resource of xDS, and its name for messages.
struct SourceFile {
  std::string name;
  std::string text;
};

// Throws Failure, which names the file.
std::string read_file(const std::string& name);

struct Listing {
  std::vector<std::string> files;
  std::vector<std::string> folders;
};

// The files that `settings` names: those of a folder, and of the folders in it,
// are sorted by name; and the folders among them, and the folders in these.
// Throws Failure, which names the folder or file.
Listing list_descriptors(const DescriptorSettings& settings);
std::vector<SourceFile> read_descriptors(const DescriptorSettings& settings);

// A text that tells versions of these files apart.  Symbolic links are
// followed.
std::string state_of(const DescriptorSettings& settings);

}  // namespace limitree::server
