// The answer to a request of Envoy: a status for each descriptor, and one code
// for all of them.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "descriptors/request.hpp"
#include "descriptors/rule_hits.hpp"

namespace limitree {

// Numbered as in Envoy's messages.
enum class LimitCode : std::uint8_t { kOk = 1, kOverLimit = 2 };

// What is left of a rule that has no limit.
inline constexpr std::int64_t kUnlimitedRemaining = UINT32_MAX;

struct DescriptorStatus {
  LimitCode code = LimitCode::kOk;
  Match match = Match::kUnmatched;
  bool quota = false;          // counts as quota_mode says
  bool shadowed = false;       // over the limit, in shadow mode
  std::int64_t remaining = 0;  // at most kUnlimitedRemaining
  // If the match is kLimited, the rule that decides:
  std::uint32_t hit = 0;  // its index in RuleHits::all()
  std::uint32_t requests_per_unit = 0;
  LimitUnit unit = LimitUnit::kUnknown;
  std::uint32_t unit_multiplier = 1;
  Duration period{};
  std::string_view name;
  RuleOutcome outcome;
};

// How statuses become one code: options of a limiter.
struct AnswerModes {
  bool shadow_mode = false;  // OVER_LIMIT is answered as OK
  bool quota_mode = false;   // all descriptors count as quota_mode says
};

struct EnvoyAnswer {
  LimitCode overall = LimitCode::kOk;
  bool shadowed = false;           // OK thanks to AnswerModes::shadow_mode
  Source source = Source::kStore;  // set by the caller of the store
  bool holds = false;  // until it is settled; set by the caller of the store
  std::int32_t header_status = -1;  // that RateLimit headers show
  InlineVector<DescriptorStatus, 4> statuses;
  bool wants_metadata = false;  // set by the caller
  std::string metadata;         // dynamic_metadata(), if wanted

  bool met_limit() const { return header_status >= 0; }
};

// Sets *answer, except for its source and metadata.  All outcomes of `hits` are
// set.
void answer(const MatchedRequest& matched, const RuleHits& hits,
            const AnswerModes& modes, EnvoyAnswer* answer);

// What the answer tells Envoy's access log and filters: the request again, and
// the metadata of the rules that allowed it.
//
// One line of JSON:
//
//   {"domain":"d","descriptors":[{"entries":["k=v"],"limit":
//   "requests_per_unit:5 unit:HOUR","hitsAddend":2}],"hitsAddend":1,
//   "metadata":{...}}
//
// Members that the request or the rules lack are left out.  The metadata of
// descriptors that are OK are joined; if a name has two values, the first
// stays.
std::string dynamic_metadata(const DescriptorRequest& request,
                             const RuleHits& hits, const EnvoyAnswer& answer);

}  // namespace limitree
