// envoy.service.ratelimit.v3.RateLimitResponse.

#ifndef LIMITREE_SERVER_SERVICES_ENVOY_RESPONSE_HPP
#define LIMITREE_SERVER_SERVICES_ENVOY_RESPONSE_HPP

#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>

#include "decisions/answer_settings.hpp"
#include "limitree.h"

namespace limitree::server {

// Writes the members of an object into the message *to, a
// google.protobuf.Struct.  Returns false without writing if `json` is not an
// object, or has a number that is too large for a double.
bool write_struct(std::string_view json, protozero::pbf_writer* to);

// Appends the message to *out.
void write_envoy(const limitree_envoy_response& response,
                 std::span<const limitree_descriptor_status> statuses,
                 const AnswerSettings& settings, std::string* out);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_ENVOY_RESPONSE_HPP
