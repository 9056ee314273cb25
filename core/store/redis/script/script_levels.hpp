// Walks over the levels of a request one after the other, or in Layout::kLoop
// writes loops over any levels, and knows what their names stand for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/plan.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/script/fragments.hpp"
#include "store/redis/script/held_lua.hpp"
#include "store/redis/script/level_numbers.hpp"
#include "store/redis/script/lua_text.hpp"
#include "store/redis/script/script_frame.hpp"
#include "store/remote/common/family.hpp"

namespace limitree::redis {

// The base of the class that writes a script.
class ScriptLevels {
 public:
  ScriptLevels(const Plan& plan, const Families& families, bool callers_clock,
               Layout layout, bool several)
      : plan_(plan),
        families_(families),
        callers_clock_(callers_clock),
        layout_(layout),
        several_(several),
        holds_(layout == Layout::kHeldLoop ||
               (layout != Layout::kLoop && families.any_holds(plan))),
        leases_(takes_lease(plan, layout)),
        all_hits_(all_are(Charge::kEveryHit)),
        at_once_(all_hits_ || leases_ || all_are(Charge::kAllOrNothing)),
        argument_((callers_clock ? 3U : 0U) + (holds_ ? 1U : 0U) +
                  (plan.charged_at ? 1U : 0U)) {
    if (!leases_) return;
    lease_argument_ = argument_ + 1;
    argument_ += lease_arguments(families.levels().size(), layout);
  }

 protected:
  bool loops() const { return is_loop(layout_); }
  bool refunds() const { return plan_.operation == Operation::kRefund; }
  bool takes_back() const { return plan_.charged_at.has_value(); }
  bool spends() const { return plan_.operation == Operation::kSpend; }

  // Whether all levels are charged in that way, and may deny unless all count.
  bool all_are(Charge charge) const {
    bool all = !loops() && !holds_ && charges(plan_.operation);
    for (const std::uint32_t i : families_.levels()) {
      const Level& level = plan_.levels[i];
      // A block is never charged.
      const bool same =
          level.limit->charge == charge ||
          (charge == Charge::kAllOrNothing && level.limit->is_block());
      all = all && same &&
            (charge == Charge::kEveryHit || redis::may_deny(plan_, level));
    }
    return all;
  }
  // For a part of a plan, the outcome of the whole is not known.
  bool knows_side() const { return at_once_ && has_all(); }
  bool has_all() const {
    return families_.levels().size() == plan_.levels.size();
  }

  // ---- pieces and what their names stand for -------------------------------
  void set(std::string_view name, std::string_view value) {
    names_.set(name, value);
  }
  void append(std::string_view piece) { append_lua(piece, names_, &body_); }
  std::string expand(std::string_view piece) const {
    std::string text;
    append_lua(piece, names_, &text);
    return text;
  }

  void name_script() {
    frame::name_clock(callers_clock_, &names_);
    set("since", "(ARGV[" + std::to_string(argument_) + "] + 0)");
    // Units that are given back join no others.
    set("joins", refunds()
                     ? "false"
                     : "$newest - $newest % <join> == <up> - <up> % <join>");
    set("moved", refunds()  ? "-min(<cost>, $used)"
                 : spends() ? "max(0, min(<cost>, <ceiling> - $used))"
                            : "$used + <cost> <= <ceiling> and <cost> or 0");
    set("foreign", frame::kForeign);
    set("write", frame::kWrite.substr(1));
    set("local", loops() ? "" : "local ");
    if (holds_) {
      set("both", tells_both_sides() ? "true" : "false");
      held::name_operation(plan_, callers_clock_, &names_);
    }
    if (!loops()) return;
    set("first", std::to_string(argument_ + 1));
    set("key", "key");
    set("most_fields", holds_ ? "3 * count + 1" : "count + 1");
    set("head", "call('HMGET', key, field .. '!h')[1]");
    set("horizon", "horizons[k]");
    set("found", "r[j + 1]");
    set("field", "field");
    set("asks", "ARGV[at + 1] == '1' and ");
  }
  void name_family() {
    const std::string k = std::to_string(family_ + 1);
    set("key", several_ ? "key" + k : "KEYS[" + k + "]");
    set("r", "r" + k);
    set("horizon", "r" + k + "[1]");
    set("most_fields",
        std::to_string((holds_ ? 3 * member().levels : member().levels) + 1));
  }
  void name_level() {
    const Limit& limit = *level().limit;
    const LevelNumbers numbers = numbers_of(plan_, level(), Instant());
    const std::uint32_t passed = passed_numbers(level(), layout_);
    const std::string i = std::to_string(level_ + 1);
    kind_ = kind_of(limit);
    for (std::size_t n = 0; n < kNumbers; ++n) {
      if (number_names(kind_)[n].empty()) continue;
      set(number_names(kind_)[n], (passed >> n & 1) != 0
                                      ? "c" + i + "_" + std::to_string(n)
                                      : std::to_string(numbers[n]));
    }
    const bool written = layout_ == Layout::kWritten;
    whole_ = written && limit.rate.emission_interval.count() % 1000 == 0;
    const bool small = written && passed == 0 && kind_ == Kind::kTail &&
                       numbers[1] <= (std::int64_t{1} << 52) / numbers[2];
    name_fragments(small, i);
    std::string field;
    append_field(plan_, member().family, level(), &field);
    set("field", quoted_lua(field));
    set("found", "<r>[" + std::to_string(place_ + 2) + "]");
    if (can_hold(kind_)) {
      set("head_field", quoted_lua(field + "!h"));
      set("head", "<r>[" + std::to_string(member().levels + 2 + heads_) + "]");
      ++heads_;
    }
    set("asks", "");
    set("charged", frame::charged_if(when()));
    set("added", counts_denied(limit.charge) ? fragments().hits : "<cost>");
    if (leases_) name_lease();
  }
  // The cost of a request of one unit, in nanoseconds of debt or units.
  void name_lease() {
    set("unit",
        layout_ == Layout::kWritten
            ? std::to_string(leased_unit(*level().limit))
            : "ARGV[" + std::to_string(lease_argument_ + 2 + level_) + "]");
    set("free", fragments().free);
    if (kind_ != Kind::kGcra) set("added", "<cost> + lease * <unit>");
  }
  void name_kind(Kind kind) {
    static_assert(kLoopNumbers == 6, "frame::kEachLevel has c_a ... c_f");
    static_assert(kNumbers == 10, "frame::kMoreOfHeldLevel ends with c_j");
    kind_ = kind;
    for (std::size_t n = 0; n < kNumbers; ++n) {
      if (number_names(kind)[n].empty()) continue;
      set(number_names(kind)[n],
          std::string("c_") + static_cast<char>('a' + static_cast<char>(n)));
    }
    name_fragments(false, "[i]");
    const bool hits = !fragments().hits.empty();
    set("charged", hits ? frame::kHitChargedIf : frame::kChargedIf);
    set("added", hits ? fragments().hits : "<cost>");
  }
  void name_fragments(bool small, std::string_view suffix) {
    names_.suffix = suffix;
    set_fragments(kind_, small, &names_);
    set("after", (whole_ ? frame::kChargeMicros : frame::kCharge).substr(1));
    set("tat",
        callers_clock_ ? "tat_of($p, $q)" : "format('%d%03d', now + $p, $q)");
  }

  // ---- families and levels -------------------------------------------------
  template <typename Body>
  void each_family(Body body) {
    if (loops()) {
      append(frame::kEachFamily);
      body();
      body_ += "end\n";
      return;
    }
    first_ = 0;
    for (family_ = 0; family_ < families(); ++family_) {
      name_family();
      body();
      first_ += member().levels;
    }
  }
  template <typename Body>
  void each_level(Body body) {
    if (!loops()) {
      heads_ = 0;
      for (place_ = 0; place_ < member().levels; ++place_) {
        level_ = first_ + place_;
        name_level();
        body();
      }
      return;
    }
    append(frame::kEachLevel);
    if (holds_) append(frame::kMoreOfHeldLevel);
    for (std::size_t k = 0; k < (holds_ ? kAllKinds : kKinds); ++k) {
      name_kind(static_cast<Kind>(k));
      body_ += k == 0 ? "if" : "elseif";
      body_ += " kind == '" + std::to_string(k) + "' then\n";
      body();
    }
    append(holds_ ? frame::kEndOfHeldLevel : frame::kEndOfLevel);
  }
  template <typename Body>
  void each_level_of_all(Body body) {
    each_family([&] { each_level(body); });
  }

  std::size_t families() const { return families_.members().size(); }
  const Families::Member& member() const {
    return families_.members()[family_];
  }
  const Level& level() const {
    return plan_.levels[families_.levels()[level_]];
  }
  const Fragments& fragments() const { return fragments_of(kind_); }
  char when() const { return when_charged(plan_, level()); }
  bool writes() const { return loops() || when() != '0'; }
  bool may_deny() const { return loops() || redis::may_deny(plan_, level()); }

  // Whether the answer about a level that can hold is for either outcome.
  bool tells_both_sides() const {
    return !is_about_hold(plan_.operation) &&
           (loops() || plan_.denied || !has_all());
  }

  const Plan& plan_;
  const Families& families_;
  const bool callers_clock_;
  const Layout layout_;
  const bool several_;
  const bool holds_;     // levels can hold units
  const bool leases_;    // takes units for requests that are to come
  const bool all_hits_;  // all levels are charged, whatever is found
  const bool at_once_;   // or none, if one of them denies
  LuaNames names_;
  std::string body_;
  std::size_t argument_;            // the last one that is taken
  std::size_t lease_argument_ = 0;  // `most`, `parts` and units follow
  std::size_t family_ = 0;          // where each_family() and each_level() are
  std::size_t first_ = 0;           // the first level of the family
  std::size_t place_ = 0;           // the level's place in the family
  std::size_t level_ = 0;
  std::size_t heads_ = 0;    // of the family, before the level
  Kind kind_ = Kind::kGcra;  // of the level
  bool whole_ = false;       // the charge of the level has whole microseconds
};

}  // namespace limitree::redis
