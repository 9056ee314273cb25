#include "store/redis/script/call.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "base/digits.hpp"
#include "base/time.hpp"
#include "store/redis/script/level_numbers.hpp"
#include "store/redis/script/lua_text.hpp"

namespace limitree::redis {

namespace {

// Forgets a bucket: a field of a key, and for one with holds those of
// held_lua.hpp.  Returns whether there was one.
constexpr std::string_view kReset = R"(
local fields = {ARGV[1]}
<held>local count = redis.call('HDEL', KEYS[1], unpack(fields))
-- ":" holds no bucket: it goes with the last one.
if redis.call('HLEN', KEYS[1]) == 1 and
  redis.call('HEXISTS', KEYS[1], ':') == 1 then
  redis.call('DEL', KEYS[1])
end
return count > 0 and 1 or 0
)";
constexpr std::string_view kHeldFields = R"(
fields[2] = ARGV[1] .. '!h'
local head = redis.call('HMGET', KEYS[1], fields[2])[1]
if head then
  for place = 89, #head - 63, 64 do
    fields[#fields + 1] =
      string.format('%s!h%d', ARGV[1], (struct.unpack('<d', head, place)))
  end
end
)";

constexpr std::int64_t kSecond = 1'000'000'000;

// Room for the call that most requests make.  For larger texts, glibc allocates
// and frees blocks more slowly.
constexpr std::size_t kUsualCall = 119;

constexpr Instant kFirstInstant{};
// From here to the end of the largest bucket there are as many microseconds as
// a double holds.
constexpr Instant kLastInstant =
    Instant(kMicrosecond * (std::int64_t{1} << 53)) - kMaxBurstOffset;

// Three words.
void append_clock(Instant now, std::string* out) {
  const std::int64_t ns = now.time_since_epoch().count();
  append_word(ns / kSecond, out);
  append_word(ns % kSecond / 1000, out);
  const std::string digits = std::to_string(1000 + ns % 1000);
  append_word(std::string_view(digits).substr(1), out);
}

void append_id(const HoldId& id, std::string* out) {
  char bytes[16];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(id.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<char>(id.low >> (56 - 8 * i));
  }
  append_word(std::string_view(bytes, sizeof bytes), out);
}

// Returns where in *out the first of them starts.
std::size_t append_keys(const Plan& plan, const Families& families,
                        std::string_view prefix, std::string* out) {
  append_word(static_cast<std::int64_t>(families.members().size()), out);
  const std::size_t first = out->size();
  for (const Families::Member& member : families.members()) {
    const std::size_t start = out->size();
    append_key(plan, member.family, prefix, out);
    end_word(start, out);
  }
  return first;
}

std::size_t count_arguments(const Plan& plan, const Families& families,
                            Layout layout) {
  std::size_t count = 0;
  for (const std::uint32_t i : families.levels()) {
    count += static_cast<std::size_t>(
        std::popcount(passed_numbers(plan.levels[i], layout)));
  }
  if (!is_loop(layout)) return count;
  return count + families.members().size() + 4 * families.levels().size();
}

void append_numbers(const Plan& plan, const Level& level, Layout layout,
                    const Now& now, std::string* out) {
  const std::uint32_t passed = passed_numbers(level, layout);
  if (passed == 0) return;
  const Kind kind = kind_of(*level.limit);
  const bool by_calendar =
      kind == Kind::kCalendar || kind == Kind::kHeldCalendar;
  const LevelNumbers numbers =
      numbers_of(plan, level,
                 now.has_value() ? *now
                 : by_calendar   ? Instant(std::chrono::system_clock::now())
                                 : Instant());
  for (std::size_t n = 0; n < kNumbers; ++n) {
    if ((passed >> n & 1) != 0) append_word(numbers[n], out);
  }
}

void append_arguments(const Plan& plan, const Families& families, Layout layout,
                      const Now& now, std::string* out) {
  if (!is_loop(layout)) {
    for (const std::uint32_t i : families.levels()) {
      append_numbers(plan, plan.levels[i], layout, now, out);
    }
    return;
  }
  const std::uint32_t* first = families.levels().data();
  for (const Families::Member& member : families.members()) {
    const LevelSet levels(first, member.levels);
    first += member.levels;
    append_word(std::int64_t{member.levels}, out);
    for (const std::uint32_t i : levels) {
      const std::size_t start = out->size();
      append_field(plan, member.family, plan.levels[i], out);
      end_word(start, out);
    }
    for (const std::uint32_t i : levels) {
      const Level& level = plan.levels[i];
      append_word(static_cast<std::int64_t>(kind_of(*level.limit)), out);
      append_word(may_deny(plan, level) ? "1" : "0", out);
      const char when = when_charged(plan, level);
      append_word(std::string_view(&when, 1), out);
      append_numbers(plan, level, layout, now, out);
    }
  }
}

Status out_of_range(const Plan& plan, LevelSet levels, const Now& now) {
  for (const std::uint32_t i : levels) {
    const std::int64_t cost = plan.levels[i].cost;
    if (cost < 0 &&
        !(plan.operation == Operation::kSettle && cost == kAsHeld)) {
      return Status(Code::kInvalidArgument, "the cost is negative");
    }
    Status held = can_be_held(*plan.levels[i].limit);
    if (!held.ok()) return held;
  }
  if (now.has_value() && (*now < kFirstInstant || *now > kLastInstant)) {
    return Status(Code::kInvalidArgument,
                  "the clock names an instant that redis:// has no room for");
  }
  return {};
}

// Takes the next word of a reply, up to a blank or the end.
std::string_view take_word(std::string_view* text) {
  const std::size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

// Reads "-", or "+" and how many units were leased, if they may be.
bool read_flag(std::string_view word, bool* charged, LeaseAsk* lease) {
  *charged = word.starts_with('+');
  lease->granted = 0;
  if (word == "-") return true;
  if (word == "+") {
    lease->most = 0;  // that script grants none
    return true;
  }
  std::uint64_t units = 0;
  if (!*charged || word.size() > 8 || !read_digits(word.substr(1), &units) ||
      static_cast<std::int64_t>(units) > lease->most) {
    return false;
  }
  lease->granted = static_cast<std::int64_t>(units);
  return true;
}

// A decimal number of at most 19 digits; a number larger than any Instant
// counts as the last Instant.
bool read_number(std::string_view word, std::int64_t* number) {
  std::uint64_t value = 0;
  if (word.size() > 19 || !read_digits(word, &value)) return false;
  *number =
      static_cast<std::int64_t>(std::min(value, std::uint64_t{INT64_MAX}));
  return true;
}

bool read_now(std::string_view* text, Instant* now) {
  std::int64_t s = 0;
  std::int64_t n = 0;
  if (!read_number(take_word(text), &s) || !read_number(take_word(text), &n) ||
      n >= kSecond || s > INT64_MAX / kSecond - 1) {
    return false;
  }
  *now = Instant(Duration(s * kSecond + n));
  return true;
}

bool read_debt(std::string_view word, Instant now, Duration* debt) {
  if (word.empty()) return true;
  std::int64_t tat = 0;
  if (!read_number(word, &tat)) return false;
  *debt = saturating_sub(Instant(Duration(tat)), now);
  return true;
}

Status not_ours() {
  return Status(Code::kStoreProtocol, "a reply that is not a decision");
}

}  // namespace

Address address_of(const Plan& plan, const Level& level,
                   std::string_view prefix) {
  const Family family = family_of(plan, level);
  Address address;
  append_key(plan, family, prefix, &address.key);
  append_field(plan, family, level, &address.field);
  return address;
}

Status Call::encode(const Plan& plan, LevelSet levels, std::string_view prefix,
                    const Now& now, Scripts* scripts) {
  Status status = out_of_range(plan, levels, now);
  if (!status.ok()) return status;
  const Families families(plan, levels);
  evalsha_.reserve(kUsualCall);
  const auto [script, layout] =
      scripts->find(plan, families, now.has_value(), &evalsha_);
  script_ = script;

  eval_.clear();
  evalsha_.clear();
  words_ = 3 + families.members().size() + (now.has_value() ? 3 : 0) +
           (families.any_holds(plan) ? 1 : 0) + (plan.charged_at ? 1 : 0) +
           (takes_lease(plan, layout)
                ? lease_arguments(families.levels().size(), layout)
                : 0) +
           count_arguments(plan, families, layout);
  append_array(words_, &evalsha_);
  append_word("EVALSHA", &evalsha_);
  append_word(script_->sha1, &evalsha_);
  arguments_ = evalsha_.size();
  keys_ = append_keys(plan, families, prefix, &evalsha_);
  key_count_ = families.members().size();
  if (now.has_value()) append_clock(*now, &evalsha_);
  if (families.any_holds(plan)) append_id(plan.reservation.id, &evalsha_);
  // Rounded down, so that less is given back.
  if (plan.charged_at) append_word(micros_of(*plan.charged_at), &evalsha_);
  if (takes_lease(plan, layout)) {
    append_word(std::min(plan.lease.most, kMaxLeased), &evalsha_);
    append_word(plan.lease.parts, &evalsha_);
    if (layout == Layout::kPassed) {
      for (const std::uint32_t i : families.levels()) {
        append_word(leased_unit(*plan.levels[i].limit), &evalsha_);
      }
    }
  }
  append_arguments(plan, families, layout, now, &evalsha_);
  return {};
}

Joinable Call::joinable() const {
  if (script_->several == nullptr) return {};
  return {script_->several.get(), std::string_view(evalsha_).substr(keys_),
          key_count_};
}

std::string_view Call::eval() const {
  if (eval_.empty()) {
    append_array(words_, &eval_);
    append_word("EVAL", &eval_);
    append_word(script_->text, &eval_);
    eval_.append(evalsha_, arguments_);
  }
  return eval_;
}

Status Call::read_reply(const redisReply& reply, Plan* plan, LevelSet levels,
                        bool* charged, Usages* usages, Instant* ran_at) {
  if (reply.type != REDIS_REPLY_STRING || reply.str == nullptr) {
    return not_ours();
  }
  std::string_view text(reply.str, reply.len);
  bool has_charged = false;
  LeaseAsk lease = plan->lease;
  Instant now;
  if (!read_flag(take_word(&text), &has_charged, &lease) ||
      !read_now(&text, &now)) {
    return not_ours();
  }

  InlineVector<std::string_view, 8> words;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    // Each but the last word is followed by a blank, and a word may be empty.
    const bool last = i + 1 == levels.size();
    if (last != (text.find(' ') == text.npos)) return not_ours();
    words.push_back(take_word(&text));
  }
  const Families families(*plan, levels);
  InlineVector<Duration, 8> debts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t at = families.levels()[i];
    const Level& level = plan->levels[at];
    Duration& debt = debts.append();
    debt = Duration::zero();
    if (!(level.limit->is_plain()
              ? read_debt(words[i], now, &debt)
              : read_usage(*plan, level, words[i], now, &(*usages)[at]))) {
      return not_ours();
    }
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t at = families.levels()[i];
    Level& level = plan->levels[at];
    level.debt = debts[i];
    if (!level.limit->is_plain()) level.usage = &(*usages)[at];
  }
  plan->lease = lease;
  *charged = has_charged;
  if (ran_at != nullptr) *ran_at = now;
  return {};
}

std::string reset_command(const Address& address, bool holds) {
  LuaNames names;
  names.set("held", holds ? kHeldFields.substr(1) : "");
  std::string script;
  append_lua(kReset, names, &script);
  return command_of({"EVAL", script, "1", address.key, address.field});
}

}  // namespace limitree::redis
