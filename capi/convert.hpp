// Converts the plain data of limitree.h to values of the core, and back.

#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/inline_vector.hpp"
#include "descriptors/answer.hpp"
#include "descriptors/request.hpp"
#include "handles.hpp"

namespace limitree::capi {

using EntryList = InlineVector<Entry, 8>;

// What the flags of an answer say about who decided.
std::uint32_t source_flags(Source source);

// Appends entries of a C caller, borrowed.
void append(const limitree_entry* entries, std::size_t count, EntryList* all);

// The request of a C caller, in the core's form.
class EnvoyRequest {
 public:
  // kInvalidArgument for flags that are not known.  The strings are borrowed.
  Status read(const limitree_envoy_request& from);

  const DescriptorRequest& request() const { return request_; }
  bool wants_metadata() const { return wants_metadata_; }

 private:
  bool wants_metadata_ = false;
  EntryList entries_;  // of all descriptors
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

void check(const limitree_limiter* limiter,
           const limitree_envoy_request* request, const Statuses& statuses);

// One of the calls about a reservation.
struct HoldCall {
  Operation operation;
  const limitree_hold* hold;  // null is an error
  std::span<const limitree_path> paths;
  std::span<const limitree_cost> costs;
  std::int64_t hold_ns = 0;
  bool cancels = false;
};

using Segments = InlineVector<std::string_view, 12>;

// Appends one path of a C caller, borrowed.
inline void append(const limitree_str* path, std::size_t size,
                   Segments* segments) {
  require(path != nullptr || size == 0, "path");
  const std::size_t before = segments->size();
  segments->resize(before + size);
  std::string_view* const to = segments->data() + before;
  for (std::size_t i = 0; i < size; ++i) {
    require(path[i], "segment.data");
    to[i] = view(path[i]);
  }
}

// Runs `act` with a path, as a whole C function.
template <typename Act>
limitree_status with_path(limitree_limiter* limiter, const limitree_str* path,
                          std::size_t path_size, limitree_error** error,
                          Act&& act) noexcept {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter");
    Segments segments;
    append(path, path_size, &segments);
    return act(Path(segments.data(), path_size));
  });
}

// The request of a C caller: one path or several, in the core's form.
class PathRequest {
 public:
  // kInvalidArgument for an unknown part.  The strings are borrowed.
  Status read(std::span<const limitree_path> paths,
              std::span<const limitree_cost> costs);

  // The same for a reservation.  REQUIRES: call.hold is not null.
  Status read(const HoldCall& call);

  Costs costs() const {
    Costs costs({path_costs_.data(), path_costs_.size()},
                {unit_costs_.data(), unit_costs_.size()}, reservation_);
    costs.cancels = cancels_;
    return costs;
  }

 private:
  Reservation reservation_;
  bool cancels_ = false;
  Segments segments_;
  InlineVector<PathCost, 4> path_costs_;
  InlineVector<UnitCost, 4> unit_costs_;
};

// Where the caller wants the verdicts of the levels.
struct Levels {
  bool wanted() const { return data != nullptr && capacity != 0; }
  void fill(const LevelReports& reports) const;

  limitree_level* data = nullptr;
  std::size_t capacity = 0;
};

void fill(const Decision& decision, limitree_decision* out);

// Decides what `read` reads, as a whole C function.
template <typename Read>
limitree_status decide_now(limitree_limiter* limiter, Operation operation,
                           const Levels& levels, limitree_decision* decision,
                           limitree_error** error, Read&& read) noexcept {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", decision, "decision");
    PathRequest parsed;
    if (Status bad = read(&parsed); !bad.ok()) return bad;
    LevelReports reports;
    Decision core;
    Status status = limiter->limiter.decide(
        operation, parsed.costs(), levels.wanted() ? &reports : nullptr, &core);
    if (!status.ok()) return status;
    fill(core, decision);
    levels.fill(reports);
    return {};
  });
}

// Starts a call that answers later.
limitree_status start_hold(limitree_limiter* limiter, const HoldCall& call,
                           void* request, Levels levels,
                           limitree_decision* decision,
                           limitree_error** error) noexcept;

Status check_operation(std::int32_t operation);

}  // namespace limitree::capi
