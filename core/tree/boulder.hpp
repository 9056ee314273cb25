// Converts the two files in which Boulder, the software of an ACME certificate
// authority, keeps its rate limits to an equivalent limits.yaml.

#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "tree/schema.hpp"

namespace limitree {

// Returns the text of the limits.yaml, as docs/boulder.md describes it: a
// top-level name for each of Boulder's limits, with ids below it.
//
// kInvalidConfig with a message for each mistake in either file, in the form of
// load_tree().  *warnings, which may be null, takes such a message for each
// setting without effect.
Result<std::string> limits_from_boulder(
    const LimitsText& defaults, const LimitsText& overrides,
    std::vector<std::string>* warnings = nullptr);

}  // namespace limitree
