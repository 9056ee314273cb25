// A request of Envoy that outlives its caller's texts.

#pragma once

#include "base/inline_vector.hpp"
#include "descriptors/request.hpp"

namespace limitree {

class RequestCopy {
 public:
  RequestCopy() = default;
  RequestCopy(const RequestCopy&) = delete;
  RequestCopy& operator=(const RequestCopy&) = delete;

  // Called once.
  void take(const DescriptorRequest& request);

  // Refers to this object.
  const DescriptorRequest& get() const { return request_; }

 private:
  InlineVector<char, 256> text_;
  InlineVector<Entry, 8> entries_;
  InlineVector<RequestDescriptor, 4> descriptors_;
  DescriptorRequest request_;
};

}  // namespace limitree
