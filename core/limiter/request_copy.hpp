// A request of Envoy that outlives its caller's texts.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/inline_vector.hpp"
#include "descriptors/request.hpp"

namespace limitree {

class RequestCopy {
 public:
  RequestCopy() = default;
  RequestCopy(const RequestCopy&) = delete;
  RequestCopy& operator=(const RequestCopy&) = delete;

  // Called once.
  void take(const DescriptorRequest& request) {
    std::size_t bytes = request.domain.size();
    std::size_t count = 0;
    for (const RequestDescriptor& descriptor : request.descriptors) {
      count += descriptor.entries.size();
      for (const Entry& entry : descriptor.entries) {
        bytes += entry.key.size() + entry.value.size();
      }
    }
    text_.resize(bytes);
    entries_.resize(count);
    char* end = text_.data();
    const auto kept = [&end](std::string_view text) {
      const char* const begin = end;
      end = std::copy(text.begin(), text.end(), end);
      return std::string_view(begin, text.size());
    };
    request_ = request;
    request_.domain = kept(request.domain);
    Entry* entry = entries_.data();
    for (const RequestDescriptor& from : request.descriptors) {
      RequestDescriptor& copy = descriptors_.emplace_back(from);
      copy.entries = {entry, from.entries.size()};
      for (const Entry& one : from.entries) {
        *entry++ = {kept(one.key), kept(one.value)};
      }
    }
    request_.descriptors = {descriptors_.data(), descriptors_.size()};
  }

  // Refers to this object.
  const DescriptorRequest& get() const { return request_; }

 private:
  InlineVector<char, 256> text_;
  InlineVector<Entry, 8> entries_;
  InlineVector<RequestDescriptor, 4> descriptors_;
  DescriptorRequest request_;
};

}  // namespace limitree
