// grpc.reflection.v1 and v1alpha: the same messages under two names, about the
// .proto files of the server.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "grpc/method.hpp"

namespace limitree::server {

// Files by name and by the symbols in them.  Immutable.
class DescriptorIndex {
 public:
  // Reads a FileDescriptorSet, which must outlive this.
  explicit DescriptorIndex(std::string_view files);

  // The files that are built into the program.
  static const DescriptorIndex& own();

  const std::vector<std::string>& services() const { return services_; }

  // The serialized file and all files that it needs; nothing if there is no
  // such file, or no such symbol.
  std::vector<std::string_view> file(const std::string& name) const;
  std::vector<std::string_view> file_of(const std::string& symbol) const;

 private:
  struct File {
    std::string_view bytes;
    std::vector<std::string> needs;
  };

  void add_file(std::string_view bytes);
  void add_message(std::string_view bytes, const std::string& scope,
                   const std::string& file);
  // Returns the full name of what `bytes` declare.
  std::string add_symbol(std::string_view bytes, const std::string& scope,
                         const std::string& file);

  std::map<std::string, File> files_;
  std::map<std::string, std::string> symbols_;  // to the name of a file
  std::vector<std::string> services_;
};

// Adds the service for the files of `index`, which outlives its calls.
void add_reflection(const DescriptorIndex* index, MethodTable* methods);

}  // namespace limitree::server
