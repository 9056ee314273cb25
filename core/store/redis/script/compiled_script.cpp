#include "store/redis/script/compiled_script.hpp"

#include <memory>

#include "store/redis/script/script_writer.hpp"

namespace limitree::redis {

namespace {

// A Lua function has 200 local variables at most; these take up to 14 each.
constexpr std::size_t kMostWritten = 12;

void append_bytes(std::int64_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// All that is written of a level's limit, in fewer bytes.
void append_limit(const Limit& limit, std::string* out) {
  append_bytes(limit.rate.emission_interval.count(), out);
  append_bytes(limit.rate.capacity, out);
  append_bytes(limit.cost, out);
  if (limit.is_plain()) return;
  append_bytes(limit.period.count(), out);
  append_bytes(limit.rules->bucket.count(), out);
  append_bytes(limit.rules->overrun, out);
}

// A reservation charges what can hold nothing.
Operation operation_of(const Plan& plan, bool holds) {
  return plan.operation == Operation::kReserve && !holds ? Operation::kAuthorize
                                                         : plan.operation;
}

// For a part of a plan, the outcome of the whole is not known.
bool tells_both_sides(const Plan& plan, const Families& families,
                      const Level& level) {
  const Kind kind = kind_of(*level.limit);
  return (kind == Kind::kLog || can_hold(kind)) &&
         families.levels().size() < plan.levels.size();
}

// All that a text is made of.
void write_signature(const Plan& plan, const Families& families,
                     bool callers_clock, Layout layout, std::string* out) {
  out->clear();
  const bool holds = layout == Layout::kHeldLoop ||
                     (layout != Layout::kLoop && families.any_holds(plan));
  out->push_back(static_cast<char>(operation_of(plan, holds)));
  out->push_back(static_cast<char>(plan.only_looks));
  out->push_back(static_cast<char>(callers_clock));
  out->push_back(static_cast<char>(holds));
  out->push_back(static_cast<char>(takes_lease(plan, layout)));
  out->push_back(static_cast<char>(plan.charged_at.has_value()));
  if (is_loop(layout)) return;
  std::size_t at = 0;
  for (const Families::Member& member : families.members()) {
    append_bytes(member.levels, out);
    for (std::uint32_t i = 0; i < member.levels; ++i, ++at) {
      const Level& level = plan.levels[families.levels()[at]];
      out->push_back(static_cast<char>(kind_of(*level.limit)));
      out->push_back(static_cast<char>(passed_numbers(level, layout)));
      out->push_back(static_cast<char>(may_deny(plan, level)));
      out->push_back(static_cast<char>(level.limit->charge));
      out->push_back(
          static_cast<char>(tells_both_sides(plan, families, level)));
      out->push_back(when_charged(plan, level));
      if (layout == Layout::kWritten) append_limit(*level.limit, out);
      if (level.limit->holds()) {
        append_bytes(held_numbers(plan, level, 0)[kFlagsNumber], out);
      }
      append_field(plan, member.family, level, out);
      out->push_back('\0');  // which append_segment() never writes
    }
  }
}

// Several requests in one call must keep a server busy no longer than it takes
// to look at their states; a log may have thousands of entries.
bool has_several(const Plan& plan, const Families& families) {
  if (takes_lease(plan, Layout::kWritten)) return false;
  for (const std::uint32_t i : families.levels()) {
    const Level& level = plan.levels[i];
    if (passed_numbers(level, Layout::kWritten) != 0 ||
        kind_of(*level.limit) == Kind::kLog) {
      return false;
    }
  }
  return true;
}

// Whether a plan blocks somebody: each time would be a script of its own.
bool is_for_a_time(const Plan& plan) {
  const Limit& limit = *plan.levels[0].limit;
  return limit.index == Limit::kNoIndex && limit.is_plain();
}

Script made(const Plan& plan, const Families& families, bool callers_clock,
            Layout layout) {
  Script script(write_script(plan, families, callers_clock, layout, false));
  if (layout == Layout::kWritten && !callers_clock &&
      has_several(plan, families)) {
    script.several = std::make_unique<Script>(
        write_script(plan, families, false, layout, true));
  }
  return script;
}

}  // namespace

Scripts& Scripts::of_process() {
  static Scripts& scripts = *new Scripts();  // threads may outlive main()
  return scripts;
}

Compiled Scripts::find(const Plan& plan, const Families& families,
                       bool callers_clock, std::string* scratch) {
  const auto find_in = [&](auto* scripts, Layout layout) -> Compiled {
    write_signature(plan, families, callers_clock, layout, scratch);
    const auto make = [&] {
      return made(plan, families, callers_clock, layout);
    };
    return {scripts->get(*scratch, make), layout};
  };
  // What another slot has denied is rare, and mostly writes nothing or takes
  // back little.
  if (families.levels().size() <= kMostWritten && !plan.denied &&
      !plan.charged_at) {
    Compiled found{};
    if (!is_for_a_time(plan)) found = find_in(&written_, Layout::kWritten);
    if (found.script == nullptr) found = find_in(&passed_, Layout::kPassed);
    if (found.script != nullptr) return found;
  }
  return find_in(&loops_,
                 families.any_holds(plan) ? Layout::kHeldLoop : Layout::kLoop);
}

}  // namespace limitree::redis
