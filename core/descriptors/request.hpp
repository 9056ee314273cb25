// From a request of Envoy to the rules that decide it.
//
//   domain, descriptors -> Descriptors::walk -> MatchedRequest -> Plan

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "descriptors/descriptors.hpp"

namespace limitree {

// A limit that the request itself states, in place of all rules.
struct RequestLimit {
  std::uint32_t requests_per_unit = 0;
  std::int32_t unit = 0;              // the number of a LimitUnit
  std::uint32_t unit_multiplier = 0;  // 0 means 1, as where it is not sent
};

// One descriptor of a request.
struct RequestDescriptor {
  Entries entries;
  std::optional<RequestLimit> limit = std::nullopt;
  std::optional<std::uint64_t> hits_addend = std::nullopt;  // 0: only look
  bool is_negative_hits = false;  // give the hits back
};

// What a request is for.
enum class Purpose : std::uint8_t {
  kCount,  // its hits are counted, or given back
  kPeek,   // what the same request would get now; counts nothing
  kLook,   // a kPeek from outside: see Plan::only_looks
  kReset,  // forgets the buckets that the same request would reach
};

struct DescriptorRequest {
  std::string_view domain;
  std::span<const RequestDescriptor> descriptors;
  std::uint32_t hits_addend = 0;  // for descriptors without one; 0 means 1
  Purpose purpose = Purpose::kCount;
};

// What a descriptor of a request has met.
enum class Match : std::uint8_t {
  kUnmatched,  // no rule: OK
  kUnlimited,  // a rule says so: OK
  kReplaced,   // a rule of another descriptor replaces this one: OK
  kLimited,    // buckets decide
};

struct MatchedDescriptor {
  Match match = Match::kUnmatched;
  bool refund = false;    // the hits are given back
  bool has_hits = false;  // the request says how many
  std::int64_t hits = 0;  // 0: only looks
  // Of the deepest node that counts, else of the deepest; null if unmatched.
  const Rule* rule = nullptr;
  std::uint32_t rule_count = 0;  // those that count
  std::uint32_t first_rule = 0;  // in MatchedRequest::rules_
  std::uint32_t first_step = 0;  // in MatchedRequest::steps_
};

// What a request does with the bucket of a rule.  Each is a plan of its own,
// because a plan has one operation.
enum class Act : std::uint8_t {
  kTake,
  kGiveBack,
  kSettle,  // ends what an earlier request holds: the hits are what was used
};

constexpr Act act_of(Operation operation) {
  return operation == Operation::kRefund   ? Act::kGiveBack
         : operation == Operation::kSettle ? Act::kSettle
                                           : Act::kTake;
}
inline Act act_of(bool refund, const Rule& rule) {
  return !refund              ? Act::kTake
         : rule.limit.holds() ? Act::kSettle
                              : Act::kGiveBack;
}

// The rules of each descriptor of a request.  Borrows the request and the
// Descriptors.
class MatchedRequest {
 public:
  MatchedRequest() = default;
  MatchedRequest(const MatchedRequest&) = delete;
  MatchedRequest& operator=(const MatchedRequest&) = delete;

  // kInvalidArgument if the domain or the list of descriptors is empty, if a
  // descriptor states a limit with an unknown unit or a window of more than 100
  // years, if there are more than kMaxPaths descriptors or kMaxLevels rules, if
  // what is held has no name, or two, and if a request that only looks or
  // resets gives hits back.  Called once.
  Status match(const Descriptors& descriptors,
               const DescriptorRequest& request);

  // nullptr if it is unknown: then no descriptor has a rule.
  const Domain* domain() const { return domain_; }

  // Whether some descriptor gives back, or settles.
  bool has_refunds() const { return has_refunds_; }

  // In the order of the request.
  std::span<const MatchedDescriptor> descriptors() const {
    return {matched_.data(), matched_.size()};
  }

  // One of the rules of a descriptor that count, from the shallowest on.
  const Rule& rule(std::size_t descriptor, std::size_t index) const {
    return *rules_[matched_[descriptor].first_rule + index].rule;
  }

  // Appends a level for each rule that counts and whose act is that of *plan.
  // Level::path is the index of the descriptor.  With `parents`, a descriptor
  // may have several levels, the deepest last.
  void add_levels(Plan* plan) const;

  // What tells the request apart from others that hold; empty if none of its
  // rules does.
  std::string_view hold_name() const { return hold_name_; }

  // The name in metrics of rule(descriptor, index).  The text is the rule's or,
  // if it depends on the request, in *room.
  std::string_view metric_key(std::size_t descriptor, std::size_t index,
                              std::string* room) const;

 private:
  // A rule, and how many entries the names of its buckets have.
  struct Counted {
    const Rule* rule;
    std::uint32_t depth;
  };

  Status match_one(const RequestDescriptor& descriptor,
                   MatchedDescriptor* matched);
  void state(const RequestDescriptor& descriptor, LimitUnit unit,
             std::uint32_t multiplier, MatchedDescriptor* matched);
  void walk(const RequestDescriptor& descriptor, MatchedDescriptor* matched);
  bool is_replaced(const Rule& rule) const;
  void settle();
  Status name_hold();
  bool holds(const MatchedDescriptor& matched) const;
  void add_segments(const RequestDescriptor& descriptor,
                    const MatchedDescriptor& matched, Plan* plan) const;

  const Descriptors* descriptors_ = nullptr;
  const DescriptorRequest* request_ = nullptr;
  const Domain* domain_ = nullptr;
  bool has_refunds_ = false;
  InlineVector<MatchedDescriptor, 4> matched_;
  InlineVector<Counted, 6> rules_;
  DescriptorSteps steps_;
  // The limits that the request states, each once.
  std::map<std::tuple<std::uint32_t, LimitUnit, std::uint32_t>, Rule> stated_;
  // Names that rules of the request replace; sorted once all are known.
  InlineVector<std::string_view, 4> replaced_;
  std::string_view hold_name_;
};

}  // namespace limitree
