// Converts requests of Envoy to those of the core, and answers back.

#ifndef LIMITREE_CAPI_ENVOY_HPP
#define LIMITREE_CAPI_ENVOY_HPP

#include <cstddef>

#include "base/inline_vector.hpp"
#include "descriptors/answer.hpp"
#include "descriptors/request.hpp"
#include "handles.hpp"

namespace limitree::capi {

// The request of a C caller, in the core's form.
class EnvoyQuestion {
 public:
  // kInvalidArgument for NULL where it is not allowed, and for flags that are
  // not known.  The strings are borrowed.
  Status read(const limitree_envoy_request& from);

  const DescriptorRequest& request() const { return request_; }
  bool wants_metadata() const { return wants_metadata_; }

 private:
  Status add_entries(const limitree_descriptor& from);

  bool wants_metadata_ = false;
  InlineVector<Entry, 8> entries_;  // of all descriptors
  InlineVector<RequestDescriptor, 4> descriptors_;
  DescriptorRequest request_;
};

// Where a C caller wants the answer.
struct Statuses {
  // Takes the metadata of *answer.
  void fill(EnvoyAnswer* answer) const noexcept;

  limitree_descriptor_status* data = nullptr;
  std::size_t capacity = 0;
  limitree_envoy_response* response = nullptr;
};

Status check(const limitree_limiter* limiter,
             const limitree_envoy_request* request, const Statuses& statuses);

}  // namespace limitree::capi

#endif  // LIMITREE_CAPI_ENVOY_HPP
