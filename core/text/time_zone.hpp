// Time zones from the database of the system.

#pragma once

#include <string_view>
#include <vector>

#include "base/calendar.hpp"
#include "base/status.hpp"

namespace limitree {

// Reads the offsets of `name`, "Europe/Berlin", up to the year 2200.  "UTC"
// needs no database.  The message of an error follows the name of the key:
// "must be ...".
//
// The database is a folder of files in the format of RFC 8536: the value of the
// environment variable TZDIR, or /usr/share/zoneinfo.
Result<std::vector<ZoneOffset>> load_time_zone(std::string_view name);

// The same, but a file that has not changed is read once for all, and shared:
// many limits may name it.  The first 4096 are kept as long as the process
// runs.
Result<ZoneOffsets> shared_time_zone(std::string_view name);

// The same for the bytes of one such file.
Result<std::vector<ZoneOffset>> parse_time_zone(std::string_view bytes);

}  // namespace limitree
