// Answers in JSON, and the statuses of HTTP.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "decisions/requests.hpp"
#include "limitree.h"

namespace limitree::server {

// For /v1: appends an object with the names of limitree_decision, and those of
// limitree_level below "levels" unless `with_levels` is false.  A denied one
// has no receipt.
void append_decision(const limitree_decision& decision,
                     std::span<const limitree_level> levels, bool with_levels,
                     std::string* out, std::string_view receipt = {});

// Appends {"settled": 2}, of that name.
void append_settlement(const limitree_decision& decision, std::string_view name,
                       std::string* out);

// The status of HTTP for an error of the library.
int http_status_of(limitree_status status);

// Appends application/problem+json.
void append_problem(int status, std::string_view detail, std::string* out);

// For /json: appends envoy.service.ratelimit.v3.RateLimitResponse in the JSON
// of proto3, which leaves out fields that are zero.
void append_envoy_answer(const limitree_envoy_response& response,
                         std::span<const limitree_descriptor_status> statuses,
                         const AnswerSettings& settings, std::string* out);

}  // namespace limitree::server
