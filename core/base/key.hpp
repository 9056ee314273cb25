// Bucket names: the names of levels' states in a store that people and other
// programs can read.
//
// Segments are joined by ":".  In a segment, % : { } # * ! space, control
// characters, bytes that are not UTF-8 and a leading ~ are written %XX. A
// pattern that shares one bucket keeps its *, which distinguishes it from a
// segment of the caller.  The empty segment is "%".  A segment of more than 200
// bytes is ~ (~* for a pattern) and its SHA-256 in hexadecimal.
//
// Distinct (segments, suffix) always give distinct names.  The memory store
// does not use names; it hashes the same segments itself
// (store/siphash.hpp).

#pragma once

#include <string>
#include <string_view>

#include "base/plan.hpp"

namespace limitree {

// Appends one segment's text to *name, escaped as described at the top of this
// file.
void append_segment(const Segment& segment, std::string* name);

// The name of a level's bucket: "user:alex:trade", "ip:10.0.0.1#daily".
std::string bucket_name(const Plan& plan, const Level& level);

}  // namespace limitree
