#include "envoy.hpp"

#include <tuple>

#include "arguments.hpp"
#include "errors.hpp"
#include "value.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

py::object owned(PyObject* object) {
  return py::reinterpret_steal<py::object>(object);
}

// In the order of limitree.envoy.DescriptorStatus, with a tuple in the order of
// its CurrentLimit.
py::tuple to_python(const limitree_descriptor_status& status) {
  py::object limit = py::none();
  py::object retry_after = py::none();
  if (status.match == LIMITREE_MATCH_LIMIT) {
    limit = py::make_tuple(
        status.requests_per_unit, limitree_unit_name(status.unit),
        python_text(status.name), owned(as_seconds(status.period_ns)),
        status.unit_multiplier);
    retry_after = owned(as_wait(status.retry_after_ns));
  }
  return py::make_tuple(status.code == LIMITREE_CODE_OVER_LIMIT, limit,
                        status.limit_remaining,
                        status.duration_until_reset_ns / 1'000'000'000,
                        retry_after, owned(as_seconds(status.reset_after_ns)),
                        (status.flags & LIMITREE_SHADOWED) != 0,
                        (status.flags & LIMITREE_CACHED) != 0,
                        (status.flags & LIMITREE_SOFT) != 0, status.quota != 0);
}

}  // namespace

EnvoyCall::EnvoyCall(const py::object& domain, const py::list& descriptors,
                     std::uint32_t hits_addend, std::uint32_t flags)
    : domain_(domain), descriptors_(descriptors) {
  require(read_segment(domain_.ptr(), "domain", -1, &request_.domain));
  entries_.reserve(descriptors_.size());
  for (const py::handle descriptor : descriptors_) {
    add(descriptor.cast<py::tuple>());
  }
  statuses_.resize(list_.size());
  request_.descriptors = list_.data();
  request_.descriptor_count = list_.size();
  request_.hits_addend = hits_addend;
  request_.flags = flags;
}

void EnvoyCall::add(const py::tuple& descriptor) {
  std::vector<limitree_entry>& entries = entries_.emplace_back();
  for (const py::handle pair : descriptor[0].cast<py::tuple>()) {
    const auto entry = pair.cast<py::tuple>();
    limitree_entry& out = entries.emplace_back();
    require(read_segment(entry[0].ptr(), "key", -1, &out.key) &&
            read_segment(entry[1].ptr(), "value", -1, &out.value));
  }
  limitree_descriptor& out = list_.emplace_back();
  out.entries = entries.data();
  out.entry_count = entries.size();
  if (!descriptor[1].is_none()) {
    out.flags |= LIMITREE_HAS_HITS_ADDEND;
    out.hits_addend = descriptor[1].cast<std::uint64_t>();
  }
  if (!descriptor[2].is_none()) {
    out.flags |= LIMITREE_HAS_LIMIT;
    std::tie(out.requests_per_unit, out.unit, out.unit_multiplier) =
        descriptor[2]
            .cast<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>>();
  }
  if (descriptor[3].cast<bool>()) out.flags |= LIMITREE_NEGATIVE_HITS;
}

py::tuple EnvoyCall::answer() const {
  py::tuple statuses(statuses_.size());
  for (std::size_t i = 0; i < statuses_.size(); ++i) {
    statuses[i] = to_python(statuses_[i]);
  }
  py::object header = py::none();
  if (response_.header_status >= 0) header = py::int_(response_.header_status);
  py::object metadata = py::none();
  if (response_.metadata != nullptr) {
    metadata = python_text(limitree_text_str(response_.metadata));
  }
  return py::make_tuple(response_.overall_code == LIMITREE_CODE_OVER_LIMIT,
                        statuses, header,
                        limitree_source_name(response_.source),
                        (response_.flags & LIMITREE_DEGRADED) != 0,
                        (response_.flags & LIMITREE_SHADOWED) != 0, metadata);
}

}  // namespace limitree::python
