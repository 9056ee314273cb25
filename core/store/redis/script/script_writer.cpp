#include "store/redis/script/script_writer.hpp"

#include <string_view>

#include "store/redis/script/fragments.hpp"
#include "store/redis/script/held_lua.hpp"
#include "store/redis/script/lua_text.hpp"
#include "store/redis/script/script_frame.hpp"
#include "store/redis/script/script_levels.hpp"

namespace limitree::redis {

namespace {

// Writes what reads and decides the levels.
class ScriptWriter : private ScriptLevels {
 public:
  using ScriptLevels::ScriptLevels;

  std::string write() {
    name_script();
    if (loops()) append(frame::kTables);
    if (layout_ == Layout::kHeldLoop) append(frame::kHeldTables);
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
  // ---- read and decide -----------------------------------------------------
  void read_family() {
    if (loops()) return append(frame::kReadEachFamily);
    std::string fields;
    each_level([&] { fields += ", " + expand("<field>"); });
    if (holds_) {
      each_level([&] {
        if (can_hold(kind_)) fields += ", " + expand("<head_field>");
      });
    }
    set("fields", fields);
    append(several_ ? frame::kTryFamily : frame::kReadFamily);
  }

  void read_level() {
    if (!loops()) take_arguments();
    append(fragments().read);
    if (!knows_side()) append(fragments().word_either);
    if (loops() && !can_hold(kind_)) append("words[i] = " + word() + "\n");
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
    if (can_hold(kind_)) return "$h.word";
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
    if (leases_) take_lease();
    each_level_of_all([this] {
      if (knows_side()) append(fragments().word_charged);
      if (!writes()) append_hold();
    });
    bool charged = false;
    each_family([&] { charged |= charge_family(!charged); });
    reply(leases_ && charged ? "'+' .. lease .. ' '"
                             : flag(charged ? '+' : '-'));
  }

  void take_lease() {
    set("argument", std::to_string(lease_argument_));
    append(frame::kTakeLease);
    each_level_of_all([this] { append(frame::kFitLease); });
    each_level_of_all([this] { append(fragments().add_lease); });
  }

  // Returns whether there was anything to charge.
  bool charge_family(bool first) {
    std::string values;
    std::string latest;
    each_level([&] {
      if (!writes()) return;
      if (whole_ && !callers_clock_ && !leases_) {
        set("tat", "format('%d', now + $p) .. $q");
      }
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
          any |= writes() || can_hold(kind_);
          if (!writes() && !can_hold(kind_)) append_hold();
        });
      }
      if (!any) return;
      append(frame::kBeginChanges);
      each_level([this] {
        if (can_hold(kind_)) return append_held();
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

  // What becomes of a level that can hold.
  void append_held() {
    const bool joint =
        !loops() && !tells_both_sides() && is_joint(level().limit->charge);
    set("writes", loops() ? "when ~= '0'" : when() != '0' ? "true" : "false");
    set("applies", refunds() ? "<writes>" : "true");
    if (charges(plan_.operation)) {
      set("applies", joint ? "allowed and not (<denies>)" : "not (<denies>)");
      if (loops() || when() != '0') {
        set("writes", loops() ? frame::kChargedIf : frame::charged_if(when()));
      }
    }
    append(frame::kChangeHeld);
    if (loops()) append("words[i] = $h.word\n");
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
    set("give_back", of.refund.substr(1));
    set("refund", takes_back() ? of.take_back.substr(1) : "<give_back>");
    append(refunds()  ? frame::kChangeIfRefunded
           : spends() ? frame::kChangeIfSpent
                      : frame::kChangeIfCharged);
  }

  // The head, what is called, and all that was appended.
  std::string with_definitions() const {
    std::string text = expand(frame::kHead);
    if (holds_) {
      text += expand(held::kId) + expand(held::kPages) + expand(held::kTimes) +
              expand(held::kLevel);
    }
    for (const auto& [name, function] : frame::kFunctions) {
      if (calls_function(body_, name)) text += expand(function);
    }
    if (several_) text += expand("local stamp = ' ' .. <stamp>\n");
    text += body_;
    return frame::library_of(text) + text;
  }
};

}  // namespace

std::string write_script(const Plan& plan, const Families& families,
                         bool callers_clock, Layout layout, bool several) {
  return ScriptWriter(plan, families, callers_clock, layout, several).write();
}

}  // namespace limitree::redis
