// A decision in JSON, as /v1 answers it.

#ifndef LIMITREE_SERVER_WEB_DECISION_JSON_HPP
#define LIMITREE_SERVER_WEB_DECISION_JSON_HPP

#include <span>
#include <string>

#include "limitree.h"

namespace limitree::server {

// Appends an object with the names of limitree_decision, and those of
// limitree_level below "levels" unless `with_levels` is false.
void append_decision(const limitree_decision& decision,
                     std::span<const limitree_level> levels, bool with_levels,
                     std::string* out);

// The status of HTTP for an error of the library.
int http_status_of(limitree_status status);

// Appends application/problem+json.
void append_problem(int status, std::string_view detail, std::string* out);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_DECISION_JSON_HPP
