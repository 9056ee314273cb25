#include "convert.hpp"

static_assert(sizeof(limitree_decision) == 80);
static_assert(sizeof(void*) != 8 || sizeof(limitree_path) == 32);
static_assert(sizeof(void*) != 8 || sizeof(limitree_level) == 128);
static_assert(sizeof(void*) != 8 || sizeof(limitree_cost) == 24);

static_assert(LIMITREE_MAX_PATHS == limitree::kMaxPaths);
static_assert(LIMITREE_MAX_LEVELS == limitree::kMaxLevels);

namespace limitree::capi {

static_assert(same(LIMITREE_AUTHORIZE, Operation::kAuthorize));
static_assert(same(LIMITREE_PEEK, Operation::kPeek));
static_assert(same(LIMITREE_SPEND, Operation::kSpend));
static_assert(same(LIMITREE_REFUND, Operation::kRefund));
static_assert(same(LIMITREE_LOOK, Operation::kLook));
static_assert(same(LIMITREE_REPLACE_NONE, Replace::kNone));
static_assert(same(LIMITREE_REPLACE_ANY, Replace::kAny));
static_assert(same(LIMITREE_REPLACE_ADDED, Replace::kAdded));
static_assert(same(LIMITREE_SOURCE_STORE, Source::kStore));
static_assert(same(LIMITREE_SOURCE_DENY_CACHE, Source::kDenyCache));
static_assert(same(LIMITREE_SOURCE_LOCAL, Source::kLocal));
static_assert(same(LIMITREE_SOURCE_ALLOW, Source::kAllow));
static_assert(same(LIMITREE_SOURCE_DENY, Source::kDeny));
static_assert(same(LIMITREE_SOURCE_LEASE, Source::kLease));
static_assert(same(LIMITREE_ENFORCE, Mode::kEnforce));
static_assert(same(LIMITREE_SHADOW, Mode::kShadow));
static_assert(same(LIMITREE_CHECK, Mode::kCheck));
static_assert(same(LIMITREE_PART_CHARGE, Part::kCharge));
static_assert(same(LIMITREE_PART_SPEND_IF_FITS, Part::kSpendIfFits));
static_assert(same(LIMITREE_PART_CHECK, Part::kCheck));

namespace {

std::uint32_t flags_of(const Decision& decision) {
  std::uint32_t flags = 0;
  if (decision.source != Source::kStore) flags = source_flags(decision.source);
  if (decision.unlimited) flags |= LIMITREE_UNLIMITED;
  if (decision.shadowed) flags |= LIMITREE_SHADOWED;
  if (decision.soft) flags |= LIMITREE_SOFT;
  if (decision.forgot) [[unlikely]]
    flags |= LIMITREE_FORGOT;
  return flags;
}

limitree_level to_c(const LevelReport& report) {
  limitree_level out{};
  out.policy = {report.policy.data(), report.policy.size()};
  out.limit = report.capacity;
  out.remaining = report.verdict.remaining;
  out.retry_after_ns = report.verdict.retry_after.count();
  out.reset_after_ns = report.verdict.reset_after.count();
  out.next_after_ns = report.verdict.next_after.count();
  out.grows_after_ns = report.grows_after.count();
  out.window_ns = report.window.count();
  out.cost = report.cost;
  out.limited = report.verdict.limited ? 1 : 0;
  out.charged = report.verdict.charged ? 1 : 0;
  out.soft = report.verdict.soft ? 1 : 0;
  out.mode = static_cast<std::int32_t>(report.mode);
  out.path = static_cast<std::int32_t>(report.path);
  out.unit = {report.unit.data(), report.unit.size()};
  return out;
}

}  // namespace

std::uint32_t source_flags(Source source) {
  switch (source) {
    case Source::kStore:
    case Source::kLease:
      return 0;
    case Source::kDenyCache:
      return LIMITREE_CACHED;
    case Source::kLocal:
    case Source::kAllow:
    case Source::kDeny:
      break;
  }
  return LIMITREE_DEGRADED;
}

Status PathRequest::read(std::span<const limitree_path> paths,
                         std::span<const limitree_cost> costs) {
  require(paths.data() != nullptr || paths.empty(), "paths",
          costs.data() != nullptr || costs.empty(), "costs");
  if (paths.empty()) {
    return Status(Code::kInvalidArgument, "at least one path is needed");
  }
  if (Status status = check_path_count(paths.size()); !status.ok()) {
    return status;
  }
  for (const limitree_path& path : paths) {
    append(path.segments, path.size, &segments_);
  }
  // Only now, because the segments moved while they grew.
  const std::string_view* next = segments_.data();
  for (const limitree_path& path : paths) {
    if (path.part < LIMITREE_PART_CHARGE || path.part > LIMITREE_PART_CHECK) {
      return Status(Code::kInvalidArgument,
                    "no part " + std::to_string(path.part));
    }
    path_costs_.emplace_back(Path(next, path.size), path.cost,
                             static_cast<Part>(path.part));
    next += path.size;
  }
  for (const limitree_cost& cost : costs) {
    require(cost.unit, "unit.data");
    unit_costs_.push_back({{cost.unit.data, cost.unit.size}, cost.units});
  }
  return {};
}

Status PathRequest::read(const HoldCall& call) {
  reservation_ = {{call.hold->id[0], call.hold->id[1]}, Duration(call.hold_ns)};
  cancels_ = call.cancels;
  return read(call.paths, call.costs);
}

void Levels::fill(const LevelReports& reports) const {
  for (std::size_t i = 0; i < std::min(reports.size(), capacity); ++i) {
    data[i] = to_c(reports[i]);
  }
}

// Field by field into the caller's memory: copying the whole struct right after
// writing its parts stalls the processor.
void fill(const Decision& decision, limitree_decision* out) {
  out->limit = decision.limit;
  out->remaining = decision.remaining;
  out->retry_after_ns = decision.retry_after.count();
  out->reset_after_ns = decision.reset_after.count();
  out->next_after_ns = decision.next_after.count();
  out->limited = decision.limited ? 1 : 0;
  out->flags = flags_of(decision);
  out->level = decision.binding;
  out->level_count = decision.level_count;
  out->held = decision.held;
  out->source = static_cast<std::int32_t>(decision.source);
  out->binding_reset_after_ns = decision.binding_reset_after.count();
  out->reserved[0] = 0;
}

Status check_operation(std::int32_t operation) {
  if (operation >= LIMITREE_AUTHORIZE && operation <= LIMITREE_LOOK) {
    return {};
  }
  return Status(Code::kInvalidArgument,
                "no operation " + std::to_string(operation));
}

}  // namespace limitree::capi
