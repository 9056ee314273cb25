// The store that a command uses, from the command line and the environment.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limitree.hpp"

namespace limitree::cli {

struct Remote {
  std::string store;                  // a URL; empty: see url_of()
  std::vector<std::string> settings;  // NAME=VALUE, options of the library
};

// Returns the URL of `remote.store`, or else of LIMITREE_STORE in the
// environment.  Throws UsageError if there is none.
std::string url_of(const Remote& remote);

// `url` for a command that only reads the store: a missing file of shm:// is
// not created.
std::string existing(const std::string& url);

// Sets *config to use the store at `url` with the settings of `remote`, and
// with a longer timeout than a server has.  Throws UsageError.
void set_store(const Remote& remote, const std::string& url, Config* config);

// Makes a limiter.  Throws UsageError if the options contradict each other.
Limiter limiter_of(const Config& config);

bool is_file(std::string_view url);  // of shm://

// `url` without user, password and options.
std::string shown_url(std::string_view url);

}  // namespace limitree::cli
