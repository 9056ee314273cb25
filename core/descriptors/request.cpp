#include "descriptors/request.hpp"

#include <algorithm>
#include <utility>

namespace limitree {

namespace {

// The hits of a descriptor: its own, or those of the request.
std::int64_t hits_of(const DescriptorRequest& request,
                     const RequestDescriptor& descriptor) {
  const std::uint64_t hits =
      descriptor.hits_addend.value_or(std::max(request.hits_addend, 1U));
  return static_cast<std::int64_t>(
      std::min(hits, static_cast<std::uint64_t>(INT64_MAX)));
}

Status refused(std::string what) {
  return Status(Code::kInvalidArgument, std::move(what));
}

}  // namespace

Status MatchedRequest::match(const Descriptors& descriptors,
                             const DescriptorRequest& request) {
  if (request.domain.empty()) {
    return refused("rate limit domain must not be empty");
  }
  if (request.descriptors.empty()) {
    return refused("rate limit descriptor list must not be empty");
  }
  if (request.descriptors.size() > kMaxPaths) {
    return refused("there are " + std::to_string(request.descriptors.size()) +
                   " descriptors, the most is " + std::to_string(kMaxPaths));
  }
  descriptors_ = &descriptors;
  request_ = &request;
  domain_ = descriptors.find(request.domain);
  for (const RequestDescriptor& descriptor : request.descriptors) {
    MatchedDescriptor matched;
    matched.has_hits = descriptor.hits_addend || request.hits_addend > 0;
    matched.hits = hits_of(request, descriptor);
    matched.refund = descriptor.is_negative_hits;
    has_refunds_ |= matched.refund;
    if (matched.refund && request.purpose != Purpose::kCount) {
      return refused("descriptor " + std::to_string(matched_.size()) +
                     " gives hits back, and the request only " +
                     (request.purpose == Purpose::kReset ? "resets" : "looks"));
    }
    if (domain_ != nullptr) {
      if (Status status = match_one(descriptor, &matched); !status.ok()) {
        return status;
      }
    }
    matched_.push_back(matched);
    if (rules_.size() > kMaxLevels) {
      return refused("the first " + std::to_string(matched_.size()) +
                     " descriptors meet " + std::to_string(rules_.size()) +
                     " limits, the most is " + std::to_string(kMaxLevels));
    }
  }
  settle();
  // A reset forgets what all requests hold.
  const bool names =
      descriptors.any_holds() && request.purpose != Purpose::kReset;
  return names ? name_hold() : Status();
}

Status MatchedRequest::match_one(const RequestDescriptor& descriptor,
                                 MatchedDescriptor* matched) {
  matched->first_rule = static_cast<std::uint32_t>(rules_.size());
  matched->first_step = static_cast<std::uint32_t>(steps_.size());
  if (!descriptor.limit) {
    walk(descriptor, matched);
    return {};
  }
  const std::optional<LimitUnit> unit = unit_of(descriptor.limit->unit);
  if (!unit) {
    return refused("descriptor " + std::to_string(matched_.size()) +
                   " states a limit with the unknown unit " +
                   std::to_string(descriptor.limit->unit));
  }
  const std::uint32_t multiplier =
      std::max(descriptor.limit->unit_multiplier, 1U);
  if (!unit_length(*unit, multiplier)) {
    return refused("descriptor " + std::to_string(matched_.size()) +
                   " states a limit with the unit_multiplier " +
                   std::to_string(multiplier) +
                   ": such a window takes more than 100 years");
  }
  state(descriptor, *unit, multiplier, matched);
  return {};
}

void MatchedRequest::state(const RequestDescriptor& descriptor, LimitUnit unit,
                           std::uint32_t multiplier,
                           MatchedDescriptor* matched) {
  const std::uint32_t requests = descriptor.limit->requests_per_unit;
  // Equal limits are one, because they may share a bucket.
  const auto [place, added] = stated_.try_emplace({requests, unit, multiplier});
  Rule& rule = place->second;
  if (added) {
    rule = window_rule(requests, unit, multiplier);
    rule.limit.index = Limit::kNoIndex;
    rule.limit.charge = descriptors_->charge_of(*domain_, rule.limit);
  }
  rules_.push_back(
      {&rule, static_cast<std::uint32_t>(descriptor.entries.size())});
  matched->rule_count = 1;
}

void MatchedRequest::walk(const RequestDescriptor& descriptor,
                          MatchedDescriptor* matched) {
  descriptors_->walk(*domain_, descriptor.entries, &steps_);
  const auto first = matched->first_step;
  const auto reached = static_cast<std::uint32_t>(steps_.size()) - first;
  const auto last = static_cast<std::uint32_t>(descriptor.entries.size());
  for (std::uint32_t depth = 1; depth <= reached; ++depth) {
    if (depth != last && !domain_->parents) continue;
    const Rule* const rule = descriptors_->rule_at(steps_[first + depth - 1]);
    if (rule == nullptr) continue;
    for (const SharedText& name : rule->replaces) {
      replaced_.push_back(name.view());
    }
    rules_.push_back({rule, depth});
    ++matched->rule_count;
  }
}

// Whether some rule of the request replaces `rule`.
bool MatchedRequest::is_replaced(const Rule& rule) const {
  return std::binary_search(replaced_.begin(), replaced_.end(),
                            rule.limit.name.view());
}

// Now that all rules are known: removes those that do not count.
void MatchedRequest::settle() {
  std::sort(replaced_.begin(), replaced_.end());
  for (MatchedDescriptor& matched : matched_) {
    if (matched.rule_count == 0) continue;
    Counted* const first = rules_.data() + matched.first_rule;
    const Counted deepest = first[matched.rule_count - 1];
    Counted* const end = std::remove_if(
        first, first + matched.rule_count, [this](const Counted& counted) {
          return counted.rule->unlimited || is_replaced(*counted.rule);
        });
    matched.rule_count = static_cast<std::uint32_t>(end - first);
    matched.rule = (matched.rule_count == 0 ? deepest : end[-1]).rule;
    matched.match = matched.rule_count > 0    ? Match::kLimited
                    : matched.rule->unlimited ? Match::kUnlimited
                                              : Match::kReplaced;
  }
}

bool MatchedRequest::holds(const MatchedDescriptor& matched) const {
  const Counted* const first = rules_.data() + matched.first_rule;
  return std::any_of(
      first, first + matched.rule_count,
      [](const Counted& counted) { return counted.rule->limit.holds(); });
}

// A plan has one reservation, so a request has one name.
Status MatchedRequest::name_hold() {
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    const MatchedDescriptor& matched = matched_[i];
    if (matched.match != Match::kLimited || !holds(matched)) continue;
    std::size_t at = 0;
    while (!descriptors_->names_hold(steps_[matched.first_step + at])) ++at;
    const Entry& entry = request_->descriptors[i].entries[at];
    if (entry.value.empty()) {
      return refused("the entry " + quote(entry.key) +
                     " names what is held, and is empty");
    }
    if (hold_name_.empty()) hold_name_ = entry.value;
    if (hold_name_ == entry.value) continue;
    return refused("two descriptors name what is held, " + quote(hold_name_) +
                   " and " + quote(entry.value));
  }
  return {};
}

void MatchedRequest::add_levels(Plan* plan) const {
  const Act act = act_of(plan->operation);
  for (std::uint32_t i = 0; i < matched_.size(); ++i) {
    const MatchedDescriptor& matched = matched_[i];
    if (matched.match != Match::kLimited) continue;
    if (matched.refund != (act != Act::kTake)) continue;
    const auto first = static_cast<std::uint32_t>(plan->segments.size());
    add_segments(request_->descriptors[i], matched, plan);
    // Units whose number nobody knows are settled as they were held.
    const std::int64_t cost =
        act == Act::kSettle && !matched.has_hits ? kAsHeld : matched.hits;
    for (std::uint32_t k = 0; k < matched.rule_count; ++k) {
      const Counted& counted = rules_[matched.first_rule + k];
      if (act_of(matched.refund, *counted.rule) != act) continue;
      plan->add_level(&counted.rule->limit, first, 1 + 2 * counted.depth, cost);
      plan->levels.back().path = i;
    }
  }
}

// Appends the domain, and the key and value of each entry.
void MatchedRequest::add_segments(const RequestDescriptor& descriptor,
                                  const MatchedDescriptor& matched,
                                  Plan* plan) const {
  const std::uint32_t depth =
      rules_[matched.first_rule + matched.rule_count - 1].depth;
  plan->segments.emplace_back(domain_->name, Segment::Kind::kExact);
  for (std::uint32_t i = 0; i < depth; ++i) {
    const Entry& entry = descriptor.entries[i];
    plan->segments.emplace_back(entry.key, Segment::Kind::kExact);
    const std::string_view pattern =
        descriptor.limit ? std::string_view()
                         : descriptors_->shared_pattern(
                               steps_[matched.first_step + i], entry.key);
    if (pattern.empty()) {
      plan->segments.emplace_back(entry.value, Segment::Kind::kCaller);
    } else {
      plan->segments.emplace_back(pattern, Segment::Kind::kPattern);
    }
  }
}

std::string_view MatchedRequest::metric_key(std::size_t descriptor,
                                            std::size_t index,
                                            std::string* room) const {
  const MatchedDescriptor& matched = matched_[descriptor];
  const RequestDescriptor& one = request_->descriptors[descriptor];
  if (one.limit) {
    *room = domain_->name + '.';
    for (const Entry& entry : one.entries) {
      if (&entry != one.entries.data()) *room += '.';
      append_entry(entry, room);
    }
    return *room;
  }
  const std::uint32_t depth = rules_[matched.first_rule + index].depth;
  return descriptors_->metric_key(
      *domain_, one.entries, {steps_.data() + matched.first_step, depth}, room);
}

}  // namespace limitree
