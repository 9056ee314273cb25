#include "store/redis/script/script.hpp"

#include <algorithm>
#include <charconv>

#include "store/redis/script/mixed_script.hpp"
#include "store/redis/script/special_script.hpp"

namespace limitree::redis {

namespace {

constexpr char kDecide[] =
#include "store/redis/script/decide.lua.inc"
    ;
constexpr char kDecideMixed[] =
#include "store/redis/script/decide_mixed.lua.inc"
    ;
constexpr std::string_view kReset =
#include "store/redis/script/reset.lua.inc"
    ;

constexpr std::int64_t kSecond = 1'000'000'000;

// More than any bucket holds, and than a TAT can be away: about 300 years.
constexpr std::int64_t kEndlessSeconds = 10'000'000'000;

// Room for the call that most requests make: what is a little larger is none of
// the blocks that glibc hands out and takes back at once.
constexpr std::size_t kUsualCall = 119;

constexpr Instant kFirstInstant{};
constexpr Instant kLastInstant = Instant::max() - kMaxBurstOffset;

const Script& decide_script() {
  static const Script script(kDecide);
  return script;
}

const Script& mixed_script() {
  static const Script script(kDecideMixed);
  return script;
}

bool all_plain(const Plan& plan, LevelSet levels) {
  return std::all_of(levels.begin(), levels.end(), [&](std::uint32_t i) {
    return plan.levels[i].limit->is_plain();
  });
}

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::kAuthorize:
    case Operation::kPeek:
      break;  // which charges nowhere
    case Operation::kSpend:
      return "spend";
    case Operation::kRefund:
      return "refund";
  }
  return "charge";
}

// A level's part of the arguments.
struct Weight {
  bool denies;
  char when;  // see decide.lua
  std::int64_t charge_s;
  std::int64_t charge_n;
};

Weight weight_of(const Plan& plan, const Level& level) {
  const Operation operation = plan.operation;
  const Limit& limit = *level.limit;
  const Probe found = probe(limit.rate, Duration::zero(), level.cost);
  const bool charges =
      operation == Operation::kAuthorize || operation == Operation::kPeek;
  Weight weight;
  // Cost 0 fits whatever is owed.
  weight.denies = charges && counts(level.mode) && level.cost > 0;
  weight.when = when_charged(plan, level);
  const bool never = charges && found.never;
  const std::int64_t charge = found.charge.count();
  weight.charge_s = never ? kEndlessSeconds : charge / kSecond;
  weight.charge_n = charge % kSecond;
  return weight;
}

void append_level(const Plan& plan, const Level& level, std::string* out) {
  const Weight weight = weight_of(plan, level);
  append_word(weight.denies ? "1" : "0", out);
  append_word(std::string_view(&weight.when, 1), out);
  append_word(weight.charge_s, out);
  append_word(weight.charge_n, out);
  const std::int64_t offset = level.limit->rate.burst_offset().count();
  append_word(offset / kSecond, out);
  append_word(offset % kSecond, out);
}
constexpr std::size_t kWordsPerLevel = 6;

void append_now(const Now& now, std::string* out) {
  if (!now.has_value()) {
    append_word("", out);
    append_word("", out);
    return;
  }
  const std::int64_t ns = now->time_since_epoch().count();
  append_word(ns / kSecond, out);
  append_word(ns % kSecond, out);
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

// Appends the number of each family's levels and their fields, and what
// `append_more` has to say of each of them.
template <typename AppendMore>
void append_fields(const Plan& plan, const Families& families, std::string* out,
                   AppendMore append_more) {
  std::size_t at = 0;
  for (const Families::Member& member : families.members()) {
    append_word(std::int64_t{member.levels}, out);
    const std::uint32_t* const levels = families.levels().data() + at;
    at += member.levels;
    for (std::uint32_t i = 0; i < member.levels; ++i) {
      const std::size_t start = out->size();
      append_field(plan, member.family, plan.levels[levels[i]], out);
      end_word(start, out);
    }
    for (std::uint32_t i = 0; i < member.levels; ++i) {
      append_more(plan.levels[levels[i]]);
    }
  }
}

Status out_of_range(const Plan& plan, LevelSet levels, const Now& now) {
  for (const std::uint32_t i : levels) {
    if (plan.levels[i].cost < 0) {
      return Status(Code::kInvalidArgument, "the cost is negative");
    }
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

// A decimal number of at most 19 digits; what is larger than any Instant counts
// as the last one.
bool read_number(std::string_view word, std::int64_t* number) {
  if (word.empty() || word.size() > 19) return false;
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return false;
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

Status not_ours() {
  return Status(Code::kStoreProtocol, "a reply that is no decision");
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
                    const Now& now) {
  Status status = out_of_range(plan, levels, now);
  if (!status.ok()) return status;
  const Families families(plan, levels);
  const bool plain = all_plain(plan, levels);
  evalsha_.reserve(kUsualCall);
  const Script* const special =
      now.has_value() ? nullptr : special_script(plan, families, &evalsha_);
  script_ = special != nullptr ? special
            : plain            ? &decide_script()
                               : &mixed_script();

  eval_.clear();
  evalsha_.clear();
  words_ = 3 + families.members().size();
  if (special == nullptr) {
    const std::size_t words = plain ? kWordsPerLevel : kMixedWordsPerLevel;
    // With the name of its field for each level.
    words_ += 3 + families.members().size() + (words + 1) * levels.size();
  }
  append_array(words_, &evalsha_);
  append_word("EVALSHA", &evalsha_);
  append_word(script_->sha1, &evalsha_);
  arguments_ = evalsha_.size();
  keys_ = append_keys(plan, families, prefix, &evalsha_);
  key_count_ = families.members().size();
  if (special != nullptr) return {};
  append_word(name_of(plan.operation), &evalsha_);
  append_now(now, &evalsha_);
  Instant here;
  if (!plain) here = now.value_or(std::chrono::system_clock::now());
  append_fields(plan, families, &evalsha_, [&](const Level& level) {
    if (plain) {
      append_level(plan, level, &evalsha_);
    } else {
      append_mixed_level(plan, level, here, &evalsha_);
    }
  });
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
                        bool* charged, Usages* usages) {
  if (reply.type != REDIS_REPLY_STRING || reply.str == nullptr) {
    return not_ours();
  }
  std::string_view text(reply.str, reply.len);
  const std::string_view flag = take_word(&text);
  Instant now;
  if ((flag != "+" && flag != "-") || !read_now(&text, &now)) return not_ours();

  InlineVector<std::string_view, 8> words;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    // Each but the last word is followed by a blank, and a word may be empty.
    const bool last = i + 1 == levels.size();
    if (last != (text.find(' ') == text.npos)) return not_ours();
    words.push_back(take_word(&text));
  }
  const bool plain = all_plain(*plan, levels);
  InlineVector<Duration, 8> debts;
  for (std::size_t i = 0; plain && i < words.size(); ++i) {
    std::int64_t tat = 0;
    if (words[i].empty()) {
      debts.push_back(Duration::zero());
    } else if (read_number(words[i], &tat)) {
      debts.push_back(saturating_sub(Instant(Duration(tat)), now));
    } else {
      return not_ours();
    }
  }
  const Families families(*plan, levels);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::uint32_t at = families.levels()[i];
    if (plain) {
      plan->levels[at].debt = debts[i];
    } else if (!read_mixed_level(*plan, words[i], now, &plan->levels[at],
                                 &(*usages)[at])) {
      return not_ours();
    }
  }
  *charged = flag == "+";
  return {};
}

void append_reset(const Plan& plan, LevelSet levels, std::string_view prefix,
                  std::string* out) {
  const Families families(plan, levels);
  append_array(3 + 2 * families.members().size() + levels.size(), out);
  append_word("EVAL", out);
  append_word(kReset, out);
  append_keys(plan, families, prefix, out);
  append_fields(plan, families, out, [](const Level& /*level*/) {});
}

}  // namespace limitree::redis
