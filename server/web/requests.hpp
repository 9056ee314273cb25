// Requests in JSON, as limitree.h takes them.

#pragma once

#include <cstdint>
#include <string_view>

#include "decisions/requests.hpp"
#include "json/document.hpp"

namespace limitree::server {

// For /v1: {"paths": [["user", "alex", "trade"]], "cost": 1}.  A path may also
// be an object: {"segments": ["user", "alex"], "cost": 2, "part": "CHECK"}, and
// the cost: {"request": 1, "tokens": 812}.  Reads one request after the other
// into the same memory.
class PathRequest : public PathList {
 public:
  enum class For : std::uint8_t {
    kDecision,
    kReservation,  // also "hold_ns"
    // Paths without costs:
    kReset,    // and "leaf_only"
    kBlock,    // and "duration_ns"
    kUnblock,  // alone
  };

  // The result refers to memory of this object.  Throws JsonError.
  void read(std::string_view body, For use = For::kDecision);

 private:
  std::int64_t read_cost(const JsonPlace& cost, std::int64_t absent);
  void read_path(const JsonPlace& path, bool has_costs);
  void read_segments(const JsonPlace& list);

  JsonDocument document_;
};

// For /v1/settle, /v1/cancel and /v1/extend: {"receipt": "lr1...", "cost": 5}.
class ReceiptJson : public ReceiptRequest {
 public:
  // The same.
  void read(const HoldOperation& one, std::string_view body);

 private:
  JsonDocument document_;
};

// For /json: envoy.service.ratelimit.v3.RateLimitRequest in the JSON of proto3.
// Names of fields may be in lowerCamel or in snake_case.  Reads one request
// after the other into the same memory.
class EnvoyJson final : public DescriptorList {
 public:
  // What it gives refers to memory of its own.  Throws JsonError.
  void read(std::string_view body) override;

 private:
  void read_descriptor(const JsonPlace& place);

  JsonDocument document_;
};

}  // namespace limitree::server
