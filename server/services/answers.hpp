// Answers of gRPC: decisions, and errors of the library as statuses.

#pragma once

#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>

#include "decisions/requests.hpp"
#include "grpc/status.hpp"
#include "limitree.h"

namespace limitree::server {

// Appends a limitree.v1.Decision to *out.  A denied one has no receipt.
void write_decision(const limitree_decision& decision,
                    std::span<const limitree_level> levels, std::string* out,
                    std::string_view receipt = {});

// Appends a limitree.v1.SettleResponse or ExtendResponse to *out.
void write_settlement(const limitree_decision& decision, std::string* out);

// Appends an envoy.service.ratelimit.v3.RateLimitResponse to *out.
void write_envoy(const limitree_envoy_response& response,
                 std::span<const limitree_descriptor_status> statuses,
                 const AnswerSettings& settings, std::string* out);

// Writes the members of an object into the message *to, a
// google.protobuf.Struct.  Returns false without writing if `json` is not an
// object, or has a number that is too large for a double.
bool write_struct(std::string_view json, protozero::pbf_writer* to);

GrpcCode code_of(limitree_status status);

}  // namespace limitree::server
