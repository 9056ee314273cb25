// Requests of gRPC, as limitree.h takes them.

#pragma once

#include <string_view>

#include "decisions/requests.hpp"

namespace limitree::server {

// limitree.v1.DecideRequest, ReserveRequest, and those about one path: reset,
// block, unblock.  Reads one request after the other into the same memory.  The
// result refers to the bytes of the request.
class DecideRequest : public PathList {
 public:
  // These throw protozero::exception if `message` is malformed.
  void read(std::string_view message);
  void read_reset(std::string_view message,
                  std::int32_t operation = LimiterOperation::kReset);

  // Whether there are more than kMaxCosts: then some are missing.
  bool has_too_many_costs() const { return has_too_many_costs_; }

 private:
  void read_path(std::string_view message);
  void read_cost(std::string_view message);

  bool has_too_many_costs_ = false;
};

// limitree.v1.SettleRequest, CancelRequest and ExtendRequest.
class ReceiptMessage : public ReceiptRequest {
 public:
  // Throws protozero::exception if `message` is malformed.
  void read(const HoldOperation& one, std::string_view message);

  // What is wrong with the costs; null: nothing.
  const char* mistake() const { return mistake_; }

 private:
  void read_cost(std::string_view message);

  const char* mistake_ = nullptr;
};

// The same for envoy.service.ratelimit.v3.RateLimitRequest.
class EnvoyRequest final : public DescriptorList {
 public:
  void read(std::string_view message) override;

  // Whether there are more descriptors or entries than any caller needs: then
  // some are missing.
  bool is_too_large() const { return is_too_large_; }

 private:
  void read_descriptor(std::string_view message);
  void read_entry(std::string_view message);

  bool is_too_large_ = false;
};

}  // namespace limitree::server
