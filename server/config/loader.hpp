// Loads limits and descriptors into a limiter, while that serves.

#ifndef LIMITREE_SERVER_CONFIG_LOADER_HPP
#define LIMITREE_SERVER_CONFIG_LOADER_HPP

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "config/files.hpp"
#include "limitree.hpp"

namespace limitree::server {

// How an attempt to load has ended.
struct LoadReport {
  bool loaded = false;
  // Files of descriptors that are in effect now.  Each has a domain.
  std::size_t files = 0;
  // Each mistake, as "file:line:column: what is wrong".
  std::vector<std::string> mistakes;
};

// What is loaded together.
struct Sources {
  std::optional<SourceFile> limits;  // a limits.yaml
  std::vector<SourceFile> descriptors;
};

// Belongs to one thread.
class Loader {
 public:
  explicit Loader(bool merges_domains) : merges_(merges_domains) {}

  // For a limiter that is to be made from *config.  Throws what limitree.hpp
  // throws.
  void start(Sources sources, Config* config);
  // Replaces the limits and descriptors of `limiter`.  If there is a mistake,
  // everything stays as it is.
  LoadReport load(Sources sources, Limiter* limiter);

  // What is in effect.
  const Sources& loaded() const { return loaded_; }

 private:
  void add(const Sources& sources, Config* config) const;

  bool merges_;
  Sources loaded_;
};

// The report of a load that has failed.
LoadReport report_of(const std::exception& error);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_LOADER_HPP
