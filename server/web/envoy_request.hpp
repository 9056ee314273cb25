// Requests of /json: envoy.service.ratelimit.v3.RateLimitRequest in the JSON of
// proto3, as limitree.h takes it.

#ifndef LIMITREE_SERVER_WEB_ENVOY_REQUEST_HPP
#define LIMITREE_SERVER_WEB_ENVOY_REQUEST_HPP

#include <string_view>

#include "decisions/requests.hpp"
#include "json/document.hpp"

namespace limitree::server {

// Names of fields may be in lowerCamel or in snake_case.  Reads one request
// after the other into the same memory.
class EnvoyJson : public DescriptorList {
 public:
  // What it gives refers to memory of its own.  Throws JsonError.
  void read(std::string_view body);

 private:
  void read_descriptor(const JsonPlace& place);
  void read_entries(const JsonPlace& list);

  JsonDocument document_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_ENVOY_REQUEST_HPP
