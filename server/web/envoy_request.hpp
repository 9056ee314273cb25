// Requests of /json: envoy.service.ratelimit.v3.RateLimitRequest in the JSON of
// proto3, as limitree.h takes it.

#ifndef LIMITREE_SERVER_WEB_ENVOY_REQUEST_HPP
#define LIMITREE_SERVER_WEB_ENVOY_REQUEST_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "json/document.hpp"
#include "limitree.h"

namespace limitree::server {

// Names of fields may be in lowerCamel or in snake_case.  Reads one request
// after the other into the same memory.
class EnvoyJson {
 public:
  // What it gives refers to memory of its own.  Throws JsonError.
  void read(std::string_view body);

  // Refers to this.
  limitree_envoy_request request() const;
  std::size_t descriptor_count() const { return descriptors_.size(); }

 private:
  void read_descriptor(const JsonPlace& place);
  void read_entries(const JsonPlace& list);
  void settle();

  JsonDocument document_;
  limitree_str domain_{};
  std::uint32_t hits_addend_ = 0;
  std::vector<limitree_entry> entries_;  // of all descriptors
  std::vector<limitree_descriptor> descriptors_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_ENVOY_REQUEST_HPP
