// limitree.v1.Decision, and errors of the library as statuses of gRPC.

#ifndef LIMITREE_SERVER_SERVICES_DECISION_HPP
#define LIMITREE_SERVER_SERVICES_DECISION_HPP

#include <span>
#include <string>

#include "grpc/status.hpp"
#include "limitree.h"

namespace limitree::server {

// Appends the message to *out.
void write_decision(const limitree_decision& decision,
                    std::span<const limitree_level> levels, std::string* out);

GrpcCode code_of(limitree_status status);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_DECISION_HPP
