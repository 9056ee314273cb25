// Asks a running service for what its page /ui shows.

#pragma once

#include <string>

namespace limitree::cli {

// The text of /ui/data.json of the service whose admin port is at `url`, such
// as http://127.0.0.1:6070.  Throws UsageError if that is no such URL, and
// FileError if the service does not answer.
std::string live_data_of(const std::string& url);

}  // namespace limitree::cli
