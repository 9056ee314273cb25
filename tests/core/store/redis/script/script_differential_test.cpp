// Random requests: the scripts and the memory store give the same verdicts, and
// the scripts leave behind the state that follows from judge().

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/key.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/redis/frozen_script.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::redis::script_differential_test {
namespace {

using Kind = Segment::Kind;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(engine_);
  }
  bool one_in(std::int64_t count) { return up_to(count - 1) == 0; }

  // From 1 to `most`, with each magnitude equally likely.
  std::int64_t magnitude(std::int64_t most) {
    const double power = std::uniform_real_distribution<double>(0, 1)(engine_);
    const double value = std::pow(static_cast<double>(most), power);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(value), 1, most);
  }

  template <typename T, std::size_t N>
  T any_of(const T (&values)[N]) {
    return values[up_to(N - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

// Where a bucket is.  The places below have families with several fields,
// families below others, and buckets that belong to no caller.
struct Place {
  std::vector<Segment> path;
  const char* suffix = "";
};

const std::vector<Place>& places() {
  static const std::vector<Place> all = [] {
    std::vector<Place> made;
    for (const char* user : {"alex", "bo}{", "c:d"}) {
      const Segment root = {"user", Kind::kExact};
      const Segment caller = {user, Kind::kCaller};
      made.push_back({{root, caller}});
      made.push_back({{root, caller}, "#daily"});
      made.push_back({{root, caller, {"trade", Kind::kExact}}});
      made.push_back({{root, caller, {"it's \\ \"\xc3\xa9\"", Kind::kExact}}});
      made.push_back(
          {{root, caller, {"o", Kind::kExact}, {"1", Kind::kCaller}}});
      made.push_back({{root,
                       caller,
                       {"o", Kind::kExact},
                       {"2", Kind::kCaller},
                       {"leg", Kind::kExact}}});
    }
    made.push_back({{{"user", Kind::kExact}}});
    made.push_back({{{"api", Kind::kExact}, {"v1", Kind::kExact}}});
    made.push_back({{{"api", Kind::kExact}, {"f*", Kind::kPattern}}});
    return made;
  }();
  return all;
}

enum class Size : std::uint8_t { kAny, kShort, kTiny };

constexpr Duration kRound = std::chrono::milliseconds(250);

Limit random_limit(Random* random, const Place& place, Size size) {
  Limit limit;
  const std::int64_t longest =
      size == Size::kShort ? 300'000'000 : kMaxBurstOffset.count();
  const std::int64_t offset = random->magnitude(longest);
  limit.rate.capacity =
      random->one_in(3) ? random->up_to(4) + 1 : random->magnitude(offset);
  limit.rate.capacity = std::min(limit.rate.capacity, offset);
  limit.rate.emission_interval = Duration(offset / limit.rate.capacity);
  // Round numbers coincide where random ones never do.
  if (size == Size::kAny && random->one_in(3)) {
    limit.rate = {kRound * (random->up_to(7) + 1), random->up_to(9) + 1};
  }
  if (size == Size::kTiny) {  // whole microseconds and halves
    limit.rate = {Duration(500) * (random->up_to(7) + 1), random->up_to(9) + 1};
  }
  limit.mode = random->any_of({Mode::kEnforce, Mode::kEnforce, Mode::kEnforce,
                               Mode::kShadow, Mode::kCheck});
  limit.cost = random->any_of({1, 1, 1, 2, 0});
  limit.suffix = place.suffix;
  return limit;
}

// One limit for each place at a time, as in a tree.
class Limits {
 public:
  Limits(Random* random, Size size) : random_(random), size_(size) {}

  const Limit* of(const Place& place) {
    const Limit*& known = current_[&place];
    if (known == nullptr || random_->one_in(50)) {
      known = &all_.emplace_back(random_limit(random_, place, size_));
    }
    return known;
  }

 private:
  Random* const random_;
  const Size size_;
  std::deque<Limit> all_;
  std::map<const Place*, const Limit*> current_;
};

std::int64_t random_cost(Random* random, const Limit& limit) {
  switch (random->up_to(7)) {
    case 0:
      return 0;
    case 1:
      return limit.rate.capacity;
    case 2:
      return saturating_cost(limit.rate.capacity, 2);
    case 3:
      return INT64_MAX;
    case 4:
      return random->magnitude(limit.rate.capacity);
    default:
      return 1;
  }
}

// Adds some levels, each with its own path.  If `common`, the request costs 1.
void fill(Random* random, Limits* limits, bool common, Plan* plan) {
  std::vector<const Place*> chosen;
  for (const Place& place : places()) chosen.push_back(&place);
  const Charge charge = !common && random->one_in(4) ? Charge::kIndependent
                                                     : Charge::kAllOrNothing;
  const std::int64_t count = random->one_in(20) ? 14 : random->up_to(3) + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = chosen.begin() +
                    random->up_to(static_cast<std::int64_t>(chosen.size()) - 1);
    const Place& place = **at;
    chosen.erase(at);
    const Limit* limit = limits->of(place);
    if (limit->charge != charge) {
      const_cast<Limit*>(limit)->charge = charge;  // one for the whole tree
    }
    const std::int64_t cost = common ? 1 : random_cost(random, *limit);
    const auto first = static_cast<std::uint32_t>(plan->segments.size());
    for (const Segment& segment : place.path) plan->segments.push_back(segment);
    plan->add_level(limit, first, static_cast<std::uint32_t>(place.path.size()),
                    saturating_cost(cost, limit->cost));
  }
}

Operation random_operation(Random* random) {
  return random->any_of({Operation::kAuthorize, Operation::kAuthorize,
                         Operation::kAuthorize, Operation::kPeek,
                         Operation::kSpend, Operation::kRefund});
}

std::string text_of(const Verdict& verdict) {
  std::string text = verdict.limited ? "limited" : "allowed";
  text += verdict.charged ? " charged" : "";
  for (const std::int64_t number :
       {verdict.remaining, verdict.retry_after.count(),
        verdict.reset_after.count(), verdict.next_after.count()}) {
    text += " " + std::to_string(number);
  }
  return text;
}

std::string text_of(const Plan& plan) {
  std::string text =
      "operation " + std::to_string(static_cast<int>(plan.operation));
  for (const Level& level : plan.levels) {
    text += "\n  debt " +
            std::to_string(std::max(level.debt, Duration(0)).count()) +
            " cost " + std::to_string(level.cost) + ": " +
            text_of(level.verdict) + " " +
            std::to_string(grows_after(level).count());
  }
  return text;
}

void copy(const Plan& from, Plan* to) {
  for (const Segment& segment : from.segments) to->segments.push_back(segment);
  for (const Level& level : from.levels) {
    to->add_level(level.limit, level.first, level.depth, level.cost);
  }
}

bool is_charged(const Plan& plan) {
  return std::ranges::any_of(
      plan.levels, [](const Level& level) { return level.verdict.charged; });
}

std::uint64_t seed() {
  const char* const given = std::getenv("LIMITREE_TEST_SEED");
  const std::uint64_t one =
      given != nullptr ? std::stoull(given) : std::random_device{}();
  std::printf("LIMITREE_TEST_SEED=%llu\n",
              static_cast<unsigned long long>(one));
  return one;
}

// The TATs that any store must have.
class Ledger {
 public:
  // Notes which buckets are full, because a store may forget those.  If the
  // clock then steps back, one store still finds a debt that another one has
  // forgotten, and neither is wrong.
  void at(Instant now) {
    for (auto& [name, bucket] : buckets_) {
      if (bucket.tat <= now) bucket.may_be_gone = true;
    }
  }

  // Expects the verdicts of `plan` to be what judge() says about the buckets as
  // they are known, and notes what the plan leaves in them.
  void expect(const Plan& plan, Instant now) {
    Plan again(plan.operation);
    copy(plan, &again);
    for (std::size_t i = 0; i < plan.levels.size(); ++i) {
      again.levels[i].debt = plan.levels[i].debt;
      Bucket& bucket = buckets_[bucket_name(plan, plan.levels[i])];
      const Duration owed = saturating_sub(bucket.tat, now);
      const Duration found = plan.levels[i].debt;
      if (found <= Duration(0) && bucket.may_be_gone) continue;
      ASSERT_EQ(std::max(found, Duration(0)), std::max(owed, Duration(0)));
    }
    judge(again.operation, again.levels.data(), again.levels.size());
    ASSERT_EQ(text_of(again), text_of(plan));
    for (const Level& level : plan.levels) note(plan, level, now);
  }

  int held() const { return held_; }

 private:
  struct Bucket {
    Instant tat = kLongAgo;
    bool may_be_gone = true;
  };

  void note(const Plan& plan, const Level& level, Instant now) {
    Bucket& bucket = buckets_[bucket_name(plan, level)];
    if (level.verdict.charged) {
      const Duration owed = level.verdict.reset_after;
      bucket = {owed > Duration(0) ? now + owed : kLongAgo, false};
    } else if (is_held(plan, level)) {
      bucket = {now + level.limit->rate.burst_offset(), false};
      ++held_;
    }
  }

  std::map<std::string, Bucket> buckets_;
  int held_ = 0;
};

bool same_debts(const Plan& one, const Plan& two) {
  return std::ranges::equal(
      one.levels, two.levels, {},
      [](const Level& level) { return std::max(level.debt, Duration(0)); },
      [](const Level& level) { return std::max(level.debt, Duration(0)); });
}

// The two stores side by side, on one clock.
class Differential : public testing::Test {
 protected:
  static constexpr Instant kLast =
      Instant(std::chrono::microseconds(std::int64_t{1} << 53)) -
      kMaxBurstOffset;

  void move_clock() {
    const std::int64_t now = clock_.now().time_since_epoch().count();
    switch (random_.up_to(19)) {
      case 0:
        clock_.set(Instant(Duration(now - random_.up_to(now))));
        break;
      case 1:
        clock_.set(Instant(
            Duration(now - std::min(now, random_.magnitude(kLongest)))));
        break;
      case 2:
        if (!random_.one_in(10)) break;
        clock_.set(random_.one_in(2) ? Instant{} : kLast);
        break;
      case 3:
      case 4:
        break;
      default:
        clock_.set(std::min(
            kLast, saturating_add(clock_.now(),
                                  Duration(random_.magnitude(kLongest)))));
        if (random_.one_in(3)) {  // up to a round number
          const Duration past = clock_.now().time_since_epoch() % kRound;
          if (clock_.now() < kLast - kRound) clock_.advance(kRound - past);
        }
    }
  }

  // A key lives at least until the latest TAT that it holds.  Both its field
  // ":" and the TTL that was set along with that field must say so.
  void expect_lifetime(const std::string& key) {
    const Reply all = script_.send_words({"HGETALL", key});
    std::int64_t horizon = 0;
    std::int64_t latest = 0;
    for (std::size_t i = 0; i < all->elements; i += 2) {
      const std::string field = all->element[i]->str;
      const std::string value = all->element[i + 1]->str;
      if (field == ":") {
        horizon = std::stoll(value);
      } else {
        const std::int64_t tat = std::stoll(value);
        latest = std::max(latest, tat / 1'000'000'000 + 1);
      }
    }
    ASSERT_LE(latest, horizon) << key;
    if (std::exchange(horizons_[key], horizon) == horizon) return;
    if (horizon == 0) return;  // there is no such key
    const std::int64_t now =
        clock_.now().time_since_epoch() / std::chrono::seconds(1);
    const Reply left = script_.send_words({"TTL", key});
    // Allows a minute for a busy machine.
    ASSERT_GE(left->integer, latest - now - 60) << key;
  }

  static constexpr std::int64_t kLongest = 4'000'000'000'000'000'000;

  Random random_{seed()};
  Limits limits_{&random_, Size::kAny};
  ManualClock clock_;
  std::map<std::string, std::int64_t> horizons_;  // of keys: their last ":"
  MemoryStore memory_{100'000, clock_.clock()};
  const RedisServer server_;
  ScriptStore script_{server_, [this]() -> Now { return clock_.now(); }};
};

// The clock steps back at times, and limits change.
TEST_F(Differential, AgreesWithTheMemoryStore) {
  int charged = 0;
  int limited = 0;
  int same = 0;
  Ledger ledger_of_memory;
  Ledger ledger_of_script;
  for (int i = 0; i < 12'000; ++i) {
    move_clock();
    const Operation operation = random_operation(&random_);
    Plan one(operation);
    fill(&random_, &limits_, false, &one);
    Plan two(operation);
    copy(one, &two);
    ASSERT_TRUE(memory_.decide(&one).ok());
    ASSERT_TRUE(script_.decide(&two).ok());
    const Instant now = clock_.now();
    SCOPED_TRACE("request " + std::to_string(i));
    ledger_of_memory.at(now);
    ledger_of_memory.expect(one, now);
    ledger_of_script.at(now);
    ledger_of_script.expect(two, now);
    if (HasFatalFailure()) return;
    if (same_debts(one, two)) {
      ASSERT_EQ(text_of(one), text_of(two));
      ++same;
    }
    for (const Level& level : two.levels) {
      expect_lifetime(address_of(two, level, ScriptStore::kPrefix).key);
    }
    ASSERT_EQ(script_.charged(), is_charged(two)) << "request " << i << "\n"
                                                  << text_of(two);
    charged += script_.charged();
    limited += one.levels[0].verdict.limited;
  }
  // The requests must have covered enough of each case.
  EXPECT_GT(charged, 1800);
  EXPECT_GT(limited, 600);
  EXPECT_GT(same, 11'000);
  EXPECT_GT(ledger_of_script.held(), 150);
}

// Several requests in one call are decided as if each had its own call.
TEST_F(Differential, ScriptsForSeveralAgreeWithTheMemoryStore) {
  Limits limits(&random_, Size::kTiny);
  int limited = 0;
  for (int rounds = 0; rounds < 2000;) {
    clock_.advance(std::chrono::microseconds(random_.up_to(2)));
    Plan plan(Operation::kAuthorize);
    fill(&random_, &limits, true, &plan);
    const std::vector<std::uint32_t> levels = ScriptStore::all_levels(plan);
    const Families families(plan, levels);
    if (levels.size() > 12) continue;
    ++rounds;
    const auto count = static_cast<std::size_t>(1 + random_.up_to(3));
    const Reply reply =
        script_.send(frozen_script(plan, families, count, clock_.now()));
    ASSERT_EQ(reply->type, REDIS_REPLY_ARRAY) << reply->str;
    ASSERT_EQ(reply->elements, count);
    for (std::size_t i = 0; i < count; ++i) {
      Plan one(Operation::kAuthorize);
      copy(plan, &one);
      ASSERT_TRUE(memory_.decide(&one).ok());
      Plan two(Operation::kAuthorize);
      copy(plan, &two);
      bool charged = false;
      ASSERT_TRUE(
          Call::read_reply(*reply->element[i], &two, levels, &charged).ok());
      judge(two.operation, two.levels.data(), two.levels.size());
      ASSERT_EQ(text_of(one), text_of(two)) << i << " of " << count;
      ASSERT_EQ(charged, is_charged(two)) << text_of(two);
      limited += !charged;
    }
  }
  EXPECT_GT(limited, 100);
}

// With the server's own clock: a reply reports what was stored before the call,
// and what is stored afterwards follows from judge().
class OwnClock : public testing::Test {
 protected:
  static std::string stored(ScriptStore* store, const Address& address) {
    const Reply reply = store->send_words({"HGET", address.key, address.field});
    return reply->type == REDIS_REPLY_STRING
               ? std::string(reply->str, reply->len)
               : "";
  }

  Address address(const Level& level, const Plan& plan) {
    return address_of(plan, level, ScriptStore::kPrefix);
  }

  // No debt outlives its key, and no key is kept much longer than twice the
  // debt.  A key names its own end, two seconds beyond the debts.  That may be
  // off by the time for which the server stalled between reading the clock for
  // EXPIRE and reading it for TIME.
  void expect_lifetime(const std::string& key) {
    const Reply reply =
        store_.send_words({"EVAL",
                           "local t = redis.call('TIME') "
                           "return {redis.call('PTTL', KEYS[1]), t[1], t[2], "
                           "redis.call('HGETALL', KEYS[1])}",
                           "1", key});
    if (reply->element[0]->integer == -2) return;  // there is no such key
    const std::int64_t now =
        std::stoll(reply->element[1]->str) * 1'000'000'000 +
        std::stoll(reply->element[2]->str) * 1000;
    // Redis counts whole milliseconds, and had read its clock before it ran
    // TIME.
    const std::int64_t end = now + (reply->element[0]->integer + 1) * 1'000'000;
    std::int64_t latest = 0;
    const redisReply& all = *reply->element[3];
    for (std::size_t i = 0; i < all.elements; i += 2) {
      const std::int64_t value = std::stoll(all.element[i + 1]->str);
      if (std::string_view(all.element[i]->str) == ":") {
        EXPECT_GE(end, (value - 1) * 1'000'000'000);
      } else {
        latest = std::max(latest, value);
      }
    }
    EXPECT_GE(end, latest);
    longest_stay_ = std::max(longest_stay_, end - now);
  }

  Random random_{seed()};
  Limits limits_{&random_, Size::kShort};
  const RedisServer server_;
  ScriptStore store_{server_};
  std::int64_t longest_stay_ = 0;
};

TEST_F(OwnClock, LeavesBehindWhatJudgeSays) {
  Call call;
  int charged_ones = 0;
  int held_ones = 0;
  for (int i = 0; i < 4000; ++i) {
    const bool common = random_.one_in(2);
    Plan plan(common ? Operation::kAuthorize : random_operation(&random_));
    plan.wants_growth = true;
    fill(&random_, &limits_, common, &plan);
    const std::vector<std::uint32_t> levels = ScriptStore::all_levels(plan);
    std::vector<std::string> before;
    for (const Level& level : plan.levels) {
      const Address place = address(level, plan);
      std::string tat = stored(&store_, place);
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      const std::int64_t owed = tat.empty() ? 0 : std::stoll(tat) - now.count();
      if (random_.one_in(5) && owed > 0 && owed < 300'000'000) {
        // As if the clock had stepped back, but by less than the key has left
        // to live.
        tat = std::to_string(std::stoll(tat) + 500'000'000);
        store_.send_words({"HSET", place.key, place.field, tat});
      }
      before.push_back(tat);
    }
    ASSERT_TRUE(call.encode(plan, levels, ScriptStore::kPrefix, {}).ok());
    Reply reply = store_.send(call.evalsha());
    if (reply->type == REDIS_REPLY_ERROR) reply = store_.send(call.eval());
    ASSERT_EQ(reply->type, REDIS_REPLY_STRING) << reply->str;
    bool charged = false;
    ASSERT_TRUE(Call::read_reply(*reply, &plan, levels, &charged).ok());
    judge(plan.operation, plan.levels.data(), plan.levels.size());

    std::int64_t s = 0;
    std::int64_t n = 0;
    ASSERT_EQ(std::sscanf(reply->str + 2, "%ld %ld", &s, &n), 2);
    const std::int64_t now = s * 1'000'000'000 + n;
    bool any = false;
    for (std::size_t at = 0; at < levels.size(); ++at) {
      const Level& level = plan.levels[at];
      const std::string found = stored(&store_, address(level, plan));
      std::string expected = before[at];
      if (level.verdict.charged) {
        any = true;
        expected =
            level.verdict.reset_after == Duration(0)
                ? ""
                : std::to_string(now + level.verdict.reset_after.count());
      } else if (is_held(plan, level)) {
        ++held_ones;
        expected =
            std::to_string(now + level.limit->rate.burst_offset().count());
      } else if (found.empty() && !before[at].empty()) {
        EXPECT_LE(std::stoll(before[at]), now);  // it was full, and was pruned
        continue;
      }
      ASSERT_EQ(found, expected) << "request " << i << ", level " << at << "\n"
                                 << reply->str << "\n"
                                 << text_of(plan) << "\n"
                                 << call.eval();
      if (!before[at].empty() && std::stoll(before[at]) > now) {
        ASSERT_EQ(level.debt.count(), std::stoll(before[at]) - now);
      }
    }
    ASSERT_EQ(charged, any);
    charged_ones += charged;
    expect_lifetime(address(plan.levels[0], plan).key);
  }
  EXPECT_GT(charged_ones, 800);
  EXPECT_GT(held_ones, 10);
  EXPECT_LE(longest_stay_, 4'100'000'000) << "debts are at most 0.3 seconds";
}

}  // namespace
}  // namespace limitree::redis::script_differential_test
