// Answers of /json: envoy.service.ratelimit.v3.RateLimitResponse in the JSON of
// proto3.

#ifndef LIMITREE_SERVER_WEB_ENVOY_ANSWER_HPP
#define LIMITREE_SERVER_WEB_ENVOY_ANSWER_HPP

#include <span>
#include <string>

#include "decisions/answer_settings.hpp"
#include "limitree.h"

namespace limitree::server {

// Appends the message.  Fields that are zero are left out, as proto3 does.
void append_envoy_answer(const limitree_envoy_response& response,
                         std::span<const limitree_descriptor_status> statuses,
                         const AnswerSettings& settings, std::string* out);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_ENVOY_ANSWER_HPP
