#include "store/redis/script/script_writer.hpp"

#include <string_view>

#include "store/redis/script/fragments.hpp"
#include "store/redis/script/lua_text.hpp"
#include "store/redis/script/script_frame.hpp"

namespace limitree::redis {

namespace {

// Writes the levels of a request one after the other, or in Layout::kLoop what
// decides any of them: each_family() and each_level() then write a loop.
class ScriptWriter {
 public:
  ScriptWriter(const Plan& plan, const Families& families, bool callers_clock,
               Layout layout, bool several)
      : plan_(plan),
        families_(families),
        callers_clock_(callers_clock),
        layout_(layout),
        several_(several),
        all_hits_(all_are(Charge::kEveryHit)),
        at_once_(all_hits_ || all_are(Charge::kAllOrNothing)),
        argument_(callers_clock ? 3 : 0) {}

  std::string write() {
    name_script();
    if (loops()) append(frame::kTables);
    if (several_)
      body_ +=
          "local function decide(" + numbered("key", 1, families(), "") + ")\n";
    if (!at_once_) body_ += "local allowed, flag = true, '-'\n";
    each_family([this] {
      read_family();
      each_level([this] { read_level(); });
    });
    at_once_ ? decide_at_once() : decide_each();
    if (several_) {
      body_ += "end\n";
      set("families", std::to_string(families()));
      set("arguments", numbered("KEYS[i + ", 0, families(), "]"));
      append(frame::kDecideSeveral);
    }
    return with_definitions();
  }

 private:
  bool loops() const { return layout_ == Layout::kLoop; }
  bool refunds() const { return plan_.operation == Operation::kRefund; }
  bool spends() const { return plan_.operation == Operation::kSpend; }

  // Whether all levels are charged in that way, and may deny unless all count.
  bool all_are(Charge charge) const {
    bool all = !loops() && charges(plan_.operation);
    for (const std::uint32_t i : families_.levels()) {
      const Level& level = plan_.levels[i];
      all = all && level.limit->charge == charge &&
            (charge == Charge::kEveryHit || redis::may_deny(plan_, level));
    }
    return all;
  }
  // For a part of a plan, the outcome of the whole is not known.
  bool knows_side() const {
    return at_once_ && families_.levels().size() == plan_.levels.size();
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
    if (!loops()) return;
    set("first", callers_clock_ ? "4" : "1");
    set("key", "key");
    set("most_fields", "count + 1");
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
    set("most_fields", std::to_string(member().levels + 1));
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
    set("asks", "");
    set("charged", frame::charged_if(when()));
    set("added", counts_denied(limit.charge) ? fragments().hits : "<cost>");
  }
  void name_kind(Kind kind) {
    static_assert(kNumbers == 6, "frame::kEachLevel has c_a ... c_f");
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
      for (place_ = 0; place_ < member().levels; ++place_) {
        level_ = first_ + place_;
        name_level();
        body();
      }
      return;
    }
    append(frame::kEachLevel);
    for (std::size_t k = 0; k < kKinds; ++k) {
      name_kind(static_cast<Kind>(k));
      body_ += k == 0 ? "if" : "elseif";
      body_ += " kind == '" + std::to_string(k) + "' then\n";
      body();
    }
    append(frame::kEndOfLevel);
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

  // ---- read and decide -----------------------------------------------------
  void read_family() {
    if (loops()) return append(frame::kReadEachFamily);
    std::string fields;
    each_level([&] { fields += ", " + expand("<field>"); });
    set("fields", fields);
    append(several_ ? frame::kTryFamily : frame::kReadFamily);
  }

  void read_level() {
    if (!loops()) take_arguments();
    append(fragments().read);
    if (!knows_side()) append(fragments().word_either);
    if (loops()) append("words[i] = " + word() + "\n");
    if (!at_once_ && may_deny()) {
      append("if <asks>(<denies>) then allowed = false end\n");
    }
  }
  void take_arguments() {
    const std::uint32_t passed = passed_numbers(level(), layout_);
    for (std::size_t n = 0; n < kNumbers; ++n) {
      if ((passed >> n & 1) == 0) continue;
      set("argument", std::to_string(++argument_));
      append("local <" + std::string(number_names(kind_)[n]) +
             "> = ARGV[<argument>] + 0\n");
    }
  }
  std::string word() const {
    return fragments().word_left.empty() ? "$v" : "$word";
  }

  // Writes all of it each time: one long concatenation costs less than two.
  void reply(const std::string& flag) {
    body_ += "return " + flag;
    append(several_ ? " .. stamp" : " .. <stamp>");
    if (loops()) {
      body_ += " .. table.concat(words, ' ')\n";
      return;
    }
    bool first = true;
    each_level_of_all([&] {
      body_ += first ? " .. " : " .. ' ' .. ";
      first = false;
      append(word());
    });
    body_ += '\n';
  }
  std::string flag(char c) const {
    return std::string("'") + c + (several_ ? "'" : " '");
  }

  void reply_if_denied() {
    std::string denied;
    each_level_of_all([&] {
      denied += (denied.empty() ? "" : "\n  or ") + expand("<denies>");
    });
    body_ += "if " + denied + " then\n";
    each_level_of_all([this] { append_hold(); });
    each_level_of_all([this] {
      if (knows_side()) append(fragments().word_left);
    });
    reply(flag('-'));
    body_ += "end\n";
  }

  void append_hold() {
    if (plan_.only_looks) return;
    set("text", fragments().text);
    set("more", "0");
    append(frame::kHold);
  }

  void decide_at_once() {
    if (!all_hits_) reply_if_denied();
    each_level_of_all([this] {
      if (knows_side()) append(fragments().word_charged);
      if (!writes()) append_hold();
    });
    bool charged = false;
    each_family([&] { charged |= charge_family(!charged); });
    reply(flag(charged ? '+' : '-'));
  }

  // Returns whether there was anything to charge.
  bool charge_family(bool first) {
    std::string values;
    std::string latest;
    each_level([&] {
      if (!writes()) return;
      if (whole_ && !callers_clock_) set("tat", "format('%d', now + $p) .. $q");
      set("text", fragments().text);
      set("life", fragments().life);
      set("more", "<added>");
      values += ",\n    " + expand("<field>, <text>");
      latest += expand(latest.empty()
                           ? "latest, horizon = <life>, <horizon>\n"
                           : "if <life> > latest then latest = <life> end\n");
    });
    if (values.empty()) return false;
    body_ += (first ? "local " : "") + latest;
    set("set", values);
    append("<write>");
    return true;
  }

  void decide_each() {
    each_family([this] {
      bool any = loops();
      if (!loops()) {
        each_level([&] {
          any |= writes();
          if (!writes()) append_hold();
        });
      }
      if (!any) return;
      append(frame::kBeginChanges);
      each_level([this] {
        if (!writes()) return;
        if (loops()) body_ += "if when ~= '0' then\n";
        append_change();
        if (!loops()) return;
        body_ += "else\n";
        append_hold();
        body_ += "end\n";
      });
      set("set", frame::kSetOfChanges);
      append(frame::kWriteChanges);
      body_ += "end\n";
    });
    reply(several_ ? "flag" : "flag .. ' '");
  }

  // What becomes of a level, as the operation has it.
  void append_change() {
    const Fragments& of = fragments();
    const auto put = [&](std::string_view text, std::string_view more) {
      set("text", text);
      set("life", of.life);
      set("more", more);
      return expand(frame::kPut);
    };
    set("put", refunds() ? put(of.refunded, "0")
                         : put(of.text, spends() ? "more" : "<added>"));
    set("put_held", put(of.text, "0"));
    // Several levels may have this counter.
    const bool again =
        !of.hits.empty() && !spends() &&
        (loops() || level().limit->charge == Charge::kAllOrDenying);
    frame::name_again(again, refunds(), &names_);
    set("spend", of.spend.substr(of.spend.starts_with('\n')));
    set("refund", of.refund.substr(1));
    append(refunds()  ? frame::kChangeIfRefunded
           : spends() ? frame::kChangeIfSpent
                      : frame::kChangeIfCharged);
  }

  // The head, what is called, and all that was appended.
  std::string with_definitions() const {
    std::string text = expand(frame::kHead);
    for (const auto& [name, function] : frame::kFunctions) {
      if (calls_function(body_, name)) text += expand(function);
    }
    if (several_) text += expand("local stamp = ' ' .. <stamp>\n");
    text += body_;
    return frame::library_of(text) + text;
  }

  const Plan& plan_;
  const Families& families_;
  const bool callers_clock_;
  const Layout layout_;
  const bool several_;
  const bool all_hits_;  // all levels are charged, whatever is found
  const bool at_once_;   // or none, if one of them denies
  LuaNames names_;
  std::string body_;
  std::size_t argument_;    // the last one that is taken
  std::size_t family_ = 0;  // where each_family() and each_level() are
  std::size_t first_ = 0;   // the first level of the family
  std::size_t place_ = 0;   // the level's place in the family
  std::size_t level_ = 0;
  Kind kind_ = Kind::kGcra;  // of the level
  bool whole_ = false;       // the charge of the level has whole microseconds
};

}  // namespace

std::string write_script(const Plan& plan, const Families& families,
                         bool callers_clock, Layout layout, bool several) {
  return ScriptWriter(plan, families, callers_clock, layout, several).write();
}

}  // namespace limitree::redis
