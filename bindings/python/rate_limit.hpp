// Requests of Envoy in Python.  limitree.rate_limit has the public types: it
// makes the arguments here, and the answers of what comes back.

#ifndef LIMITREE_PYTHON_RATE_LIMIT_HPP
#define LIMITREE_PYTHON_RATE_LIMIT_HPP

#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

#include "limitree.h"
#include "native.hpp"

namespace limitree::python {

// The arguments of a request, and room for its answer.
class RateLimitCall {
 public:
  // `descriptors` is a list of tuples (entries, hits_addend, limit,
  // is_negative_hits): a tuple of pairs of str or bytes; an int or None; a pair
  // of int or None; a bool.  Throws error_already_set.
  RateLimitCall(const pybind11::object& domain,
                const pybind11::list& descriptors, std::uint32_t hits_addend,
                bool metadata);
  RateLimitCall(const RateLimitCall&) = delete;
  RateLimitCall& operator=(const RateLimitCall&) = delete;
  ~RateLimitCall() { limitree_text_free(response_.metadata); }

  const limitree_rate_limit_request* request() const { return &request_; }
  limitree_descriptor_status* statuses() { return statuses_.data(); }
  std::size_t count() const { return statuses_.size(); }
  limitree_rate_limit_response* response() { return &response_; }

  // The answer as a tuple: (over_limit, flags, source, header_status, metadata,
  // statuses).
  pybind11::tuple answer() const;

  // As far as Native::note() needs it.
  static limitree_decision decision_of(const pybind11::tuple& answer);

 private:
  void add(const pybind11::tuple& descriptor);

  pybind11::object domain_;  // keep the texts
  pybind11::list descriptors_;
  std::vector<std::vector<limitree_entry>> entries_;
  std::vector<limitree_descriptor> list_;
  std::vector<limitree_descriptor_status> statuses_;
  limitree_rate_limit_request request_{};
  limitree_rate_limit_response response_{};
};

// Adds the methods of limitree._native.Limiter.
void bind_rate_limits(pybind11::class_<Native>* limiter);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_RATE_LIMIT_HPP
