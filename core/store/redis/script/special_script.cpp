#include "store/redis/script/special_script.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "store/redis/script/lua_text.hpp"
#include "store/redis/script/script_table.hpp"
#include "store/redis/script/special_window.hpp"

namespace limitree::redis {

namespace {

// A Lua function has 200 local variables at most; these take three each.
constexpr std::size_t kMaxLevels = 12;

// The texts; <i> is a level, <k> a family, <j> a level's place in the family.
// decide.lua has the reasons for what they do.  Here an instant is a pair of
// whole microseconds, which the server's clock counts and a double holds, and
// the last three digits of its nanoseconds, which for most limits stay a text.

constexpr std::string_view kHead = R"(
local call, sub, format = redis.call, string.sub, string.format
local t = call('TIME')
local now = t[1] * 1e6 + t[2]
)";

constexpr std::string_view kReadFamily = R"(
local r<k> = call('HMGET', <key>, ':'<fields>)
)";

// For several requests, of which one that fails must not end the others.
constexpr std::string_view kHeadOfSeveral = R"(
local sub, format, string = string.sub, string.format, string
local call, try = redis.call, redis.pcall
local t = call('TIME')
local now = t[1] * 1e6 + t[2]
local allowed = '+ ' .. t[1] .. ' ' .. t[2] .. '000 '
local denied = '- ' .. t[1] .. ' ' .. t[2] .. '000 '
local function decide(<keys>)
)";
constexpr std::string_view kTryFamily = R"(
local r<k> = try('HMGET', <key>, ':'<fields>)
if r<k>.err then return r<k> end
)";
constexpr std::string_view kTailOfSeveral = R"(
end
local replies = {}
for i = 1, #KEYS, <families> do
  replies[#replies + 1] = decide(<arguments>)
end
return replies
)";

constexpr std::string_view kReadLevel = R"(
local v<i>, u<i>, o<i> = r<k>[<j>], now, '000'
if v<i> then
  local o = sub(v<i>, -3)
  if #v<i> == 19 and (o == '000' or string.find(o, '^%d+$')) then
    local u = sub(v<i>, 1, -4) + 0
    if u >= now then u<i>, o<i> = u, o end
  elseif #v<i> > 18 or not string.find(v<i>, '^%d+$') then
    return redis.error_reply('WRONGTYPE a field of ' .. <key> ..
      ' holds no time')
  end
else
  v<i> = ''
end
)";

constexpr std::string_view kOverdrawn =
    "u<i> - now >= <u> and (u<i> - now > <u> or o<i> + 0 > <n>)";

// Among what is denied: who owes more than the bucket holds owes all of it.
constexpr std::string_view kHold = R"(
  if <overdrawn> then
    call('HSET', <key>, <field>, format('%d<n>', now + <u>))
  end
)";

// A charge of whole microseconds, and any other.
constexpr std::string_view kChargeMicroseconds = R"(
u<i> = u<i> + <u>
)";
constexpr std::string_view kChargeNanoseconds = R"(
u<i>, o<i> = u<i> + <u>, o<i> + <n>
if o<i> >= 1000 then u<i>, o<i> = u<i> + 1, o<i> - 1000 end
)";

constexpr std::string_view kWriteFamily = R"(
horizon = r<k>[1]
if horizon and latest + 2e6 <= horizon * 1e6 then
  call('HSET', <key><set>)
else
  if horizon and call('HLEN', <key>) > <fields> then
    local all = call('HGETALL', <key>)
    for i = 1, #all, 2 do
      local f, v = all[i], all[i + 1]
      if f ~= ':' and not string.find(f, '!', 1, true) and
        string.find(v, '^%d+$') and
        (#v < 19 or #v == 19 and sub(v, 1, -4) + 2e6 < now) then
        call('HDEL', <key>, f)
      end
    end
  end
  local life = 2 * math.ceil((latest - now) / 1e6) + 2
  call('HSET', <key>, ':', t[1] + life<set>)
  call('EXPIRE', <key>, life)
end
)";

// Writes a script: everything is read and decided before the first write.
class Writer {
 public:
  Writer(const Plan& plan, const Families& families, bool several)
      : plan_(plan), families_(families), several_(several) {}

  std::string write() {
    if (several_) {
      append_lua(kHeadOfSeveral, {{"keys", keys("key", 1, "")}}, &text_);
      decide();
      append_lua(kTailOfSeveral,
                 {{"families", std::to_string(families_.members().size())},
                  {"arguments", keys("KEYS[i + ", 0, "]")}},
                 &text_);
    } else {
      append_lua(kHead, {}, &text_);
      decide();
    }
    return std::move(text_);
  }

 private:
  void decide() {
    each_family([this] { read_family(); });
    each_family([this] { each_level([this] { read_level(); }); });
    text_ += "if ";
    each_family([this] { each_level([this] { deny_level(); }); });
    text_ += " then\n";
    each_family([this] { each_level([this] { hold_level(); }); });
    reply('-');
    text_ += "end\nlocal latest, horizon\n";
    charged_ = false;
    each_family([this] { write_family(); });
    reply(charged_ ? '+' : '-');
  }

  template <typename Body>
  void each_family(Body body) {
    level_ = 0;
    for (family_ = 0; family_ < families_.members().size(); ++family_) {
      const std::size_t first = level_;
      body();
      level_ = first + member().levels;
    }
  }

  template <typename Body>
  void each_level(Body body) {
    const std::size_t end = level_ + member().levels;
    for (place_ = 0; level_ < end; ++level_, ++place_) body();
  }

  const Families::Member& member() const {
    return families_.members()[family_];
  }
  const Level& level() const {
    return plan_.levels[families_.levels()[level_]];
  }
  std::string field() const {
    std::string name;
    append_field(plan_, member().family, level(), &name);
    return quoted_lua(name);
  }
  std::string i() const { return std::to_string(level_ + 1); }
  std::string k() const { return std::to_string(family_ + 1); }
  std::string key() const {
    return several_ ? "key" + k() : "KEYS[" + k() + "]";
  }

  // A list with the number of each family in it, counted from `first` on.
  std::string keys(const std::string& before, std::size_t first,
                   const std::string& behind) const {
    std::string list;
    for (std::size_t k = 0; k < families_.members().size(); ++k) {
      if (k > 0) list += ", ";
      list += before;
      list += std::to_string(first + k);
      list += behind;
    }
    return list;
  }

  void read_family() {
    std::string fields;
    each_level([&] { fields += ", " + field(); });
    append_lua(several_ ? kTryFamily : kReadFamily,
               {{"k", k()}, {"key", key()}, {"fields", fields}}, &text_);
  }

  void read_level() {
    append_lua(kReadLevel,
               {{"i", i()},
                {"k", k()},
                {"key", key()},
                {"j", std::to_string(place_ + 2)}},
               &text_);
  }

  // Each time anew: one long concatenation costs less than two.
  void reply(char flag) {
    if (several_) {
      text_ += flag == '+' ? "return allowed" : "return denied";
    } else {
      text_ += "return '";
      text_ += flag;
      text_ += " ' .. t[1] .. ' ' .. t[2] .. '000 '";
    }
    for (std::size_t i = 1; i <= families_.levels().size(); ++i) {
      text_ += (i > 1 ? " .. ' ' .. v" : " .. v") + std::to_string(i);
    }
    text_ += '\n';
  }

  std::int64_t burst_offset_ns() const {
    return level().limit->rate.burst_offset().count();
  }
  std::int64_t charge_ns() const {
    return level().limit->rate.emission_interval.count() * level().cost;
  }

  // Whether the bucket owes more than so many nanoseconds.
  std::string owes_more(std::int64_t ns) const {
    std::string text;
    append_lua(kOverdrawn,
               {{"i", i()},
                {"u", std::to_string(ns / 1000)},
                {"n", std::to_string(ns % 1000)}},
               &text);
    return text;
  }

  void deny_level() {
    if (level_ > 0) text_ += "\n  or ";
    text_ += owes_more(burst_offset_ns() - charge_ns());
  }

  void hold_level() {
    if (!is_charged(level().mode)) return;
    const std::string rest = std::to_string(1000 + burst_offset_ns() % 1000);
    append_lua(kHold,
               {{"overdrawn", owes_more(burst_offset_ns())},
                {"key", key()},
                {"field", field()},
                {"u", std::to_string(burst_offset_ns() / 1000)},
                {"n", rest.substr(1)}},
               &text_);
  }

  void write_family() {
    std::string set;
    each_level([&] {
      if (!is_charged(level().mode)) return;
      const bool whole = charge_ns() % 1000 == 0;
      append_lua(whole ? kChargeMicroseconds : kChargeNanoseconds,
                 {{"i", i()},
                  {"u", std::to_string(charge_ns() / 1000)},
                  {"n", std::to_string(charge_ns() % 1000)}},
                 &text_);
      append_lua(set.empty() ? "latest = u<i>\n"
                             : "if u<i> > latest then latest = u<i> end\n",
                 {{"i", i()}}, &text_);
      append_lua(whole ? ",\n    <field>, format('%d', u<i>) .. o<i>"
                       : ",\n    <field>, format('%d%03d', u<i>, o<i>)",
                 {{"i", i()}, {"field", field()}}, &set);
    });
    if (set.empty()) return;
    charged_ = true;
    append_lua(kWriteFamily,
               {{"k", k()},
                {"key", key()},
                {"set", set},
                {"fields", std::to_string(member().levels + 1)}},
               &text_);
  }

  const Plan& plan_;
  const Families& families_;
  const bool several_;
  std::string text_;
  std::size_t family_ = 0;  // where each_family() and each_level() are
  std::size_t level_ = 0;
  std::size_t place_ = 0;
  bool charged_ = false;
};

bool is_common(const Plan& plan, const Families& families) {
  if (plan.operation != Operation::kAuthorize || plan.denied) return false;
  if (families.levels().size() > kMaxLevels) return false;
  for (const std::uint32_t i : families.levels()) {
    const Level& level = plan.levels[i];
    const Limit& limit = *level.limit;
    if (!limit.is_plain() || level.cost != limit.cost || level.cost == 0 ||
        level.cost > limit.rate.capacity || !counts(level.mode) ||
        limit.charge != Charge::kAllOrNothing) {
      return false;
    }
  }
  return true;
}

// All that a text is made of, in fewer bytes.
void write_signature(const Plan& plan, const Families& families,
                     std::string* out) {
  out->clear();
  const auto number = [out](std::int64_t value) {
    out->append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::size_t at = 0;
  for (const Families::Member& member : families.members()) {
    number(member.levels);
    for (std::uint32_t i = 0; i < member.levels; ++i, ++at) {
      const Level& level = plan.levels[families.levels()[at]];
      const Limit& limit = *level.limit;
      number(limit.rate.emission_interval.count());
      number(limit.rate.capacity);
      number(level.cost);
      number(is_charged(level.mode));
      append_field(plan, member.family, level, out);
      out->push_back('\0');  // which append_segment() never writes
    }
  }
}

}  // namespace

std::string special_text(const Plan& plan, const Families& families,
                         bool several) {
  if (is_special_window(plan, families)) {
    return several ? "" : window_text(plan, families);
  }
  if (!is_common(plan, families)) return "";
  return Writer(plan, families, several).write();
}

const Script* special_script(const Plan& plan, const Families& families,
                             std::string* scratch) {
  static ScriptTable scripts;
  if (is_special_window(plan, families)) {
    write_window_signature(plan, families, scratch);
    return scripts.get(*scratch,
                       [&] { return Script(window_text(plan, families)); });
  }
  if (!is_common(plan, families)) return nullptr;
  write_signature(plan, families, scratch);
  return scripts.get(*scratch, [&] {
    Script script(Writer(plan, families, false).write());
    script.several =
        std::make_unique<Script>(Writer(plan, families, true).write());
    return script;
  });
}

}  // namespace limitree::redis
