// Loads limits and descriptors into a limiter while it serves requests.

#ifndef LIMITREE_SERVER_CONFIG_LOADER_HPP
#define LIMITREE_SERVER_CONFIG_LOADER_HPP

#include <cstddef>
#include <exception>
#include <functional>
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
  // How often a server has sent the same mistakes before.
  std::size_t repeats = 0;
};

// The limits and descriptors that are loaded together.
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
  void start(const Sources& sources, Config* config);

  // These replace the limits and the descriptors of `limiter`, or one of both.
  // If there is a mistake, everything stays as it is.
  LoadReport load(const Sources& sources, Limiter* limiter);
  LoadReport load_limits(const std::optional<SourceFile>& limits,
                         Limiter* limiter);
  LoadReport load_descriptors(const std::vector<SourceFile>& files,
                              Limiter* limiter);

 private:
  void add(const Sources& sources, Config* config) const;
  void add(const std::vector<SourceFile>& files, Config* config) const;
  LoadReport report(std::size_t files, const std::function<void()>& load);

  bool merges_;
  std::size_t files_ = 0;  // as LoadReport::files
};

// The report of a load that has failed.
LoadReport report_of(const std::exception& error);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_LOADER_HPP
