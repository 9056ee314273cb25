// Requests of Envoy in Python.  limitree.envoy has the public types: it makes
// the arguments, and turns the results into answers.

#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

#include "limitree.h"

namespace limitree::python {

// The arguments of a request, and room for its answer.
class EnvoyCall {
 public:
  // `descriptors` is a list of tuples (entries, hits_addend, limit,
  // is_negative_hits): a tuple of pairs of str or bytes; an int or None; three
  // int or None; a bool.  Throws error_already_set.
  EnvoyCall(const pybind11::object& domain, const pybind11::list& descriptors,
            std::uint32_t hits_addend, std::uint32_t flags);
  EnvoyCall(const EnvoyCall&) = delete;
  EnvoyCall& operator=(const EnvoyCall&) = delete;
  ~EnvoyCall() { limitree_text_free(response_.metadata); }

  const limitree_envoy_request* request() const { return &request_; }
  limitree_descriptor_status* statuses() { return statuses_.data(); }
  std::size_t count() const { return statuses_.size(); }
  limitree_envoy_response* response() { return &response_; }

  // The answer as a tuple in the order of limitree.envoy.EnvoyResponse.
  pybind11::tuple answer() const;

 private:
  void add(const pybind11::tuple& descriptor);

  pybind11::object domain_;  // keep the texts
  pybind11::list descriptors_;
  std::vector<std::vector<limitree_entry>> entries_;
  std::vector<limitree_descriptor> list_;
  std::vector<limitree_descriptor_status> statuses_;
  limitree_envoy_request request_{};
  limitree_envoy_response response_{};
};

}  // namespace limitree::python
