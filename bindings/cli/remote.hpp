// The store that a command asks: what the command line and the environment say
// of it.

#ifndef LIMITREE_CLI_REMOTE_HPP
#define LIMITREE_CLI_REMOTE_HPP

#include <string>
#include <string_view>
#include <vector>

#include "limitree.hpp"

namespace limitree::cli {

// Where commands find a store that --store does not name.
inline constexpr const char* kStoreVariable = "LIMITREE_STORE";

struct Remote {
  std::string store;                  // a URL; empty: see url_of()
  std::vector<std::string> settings;  // NAME=VALUE, options of the library
};

// Returns the URL of `remote.store`, or else that of the environment.  Throws
// UsageError if there is none.
std::string url_of(const Remote& remote);

// Sets *config to ask the store at `url` in the way that `remote` says, with
// more patience than a server has.  Throws UsageError.
void set_store(const Remote& remote, const std::string& url, Config* config);

// Makes a limiter.  Throws UsageError if the options do not go together.
Limiter limiter_of(const Config& config);

// `url` without user and password.
std::string shown_url(std::string_view url);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_REMOTE_HPP
