// All algorithms, operations, modes and costs, by scripts of each layout and
// with either clock.  The scripts answer as the memory store does, and scripts
// of different layouts leave the same state behind.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/calendar.hpp"
#include "base/judge.hpp"
#include "base/time.hpp"
#include "core/sanitizers.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/resp_text.hpp"
#include "core/store/redis/script_store.hpp"
#include "store/memory/memory_store.hpp"
#include "store/redis/script/level_numbers.hpp"
#include "store/redis/wire/resp.hpp"

namespace limitree::redis::layouts_test {
namespace {

using std::chrono::milliseconds;

Limit limit_of(Kind kind, std::int64_t count, Duration period) {
  Limit limit;
  limit.rate = make_rate(count, period, count).value();
  limit.period = period;
  limit.count = count;
  Rules rules;
  switch (kind) {
    case Kind::kGcra:
      return limit;
    case Kind::kFixed:
    case Kind::kFirst:
    case Kind::kCalendar:
      limit.algorithm = Algorithm::kFixedWindow;
      if (kind == Kind::kFirst) rules.align = Align::kFirst;
      if (kind != Kind::kCalendar) break;
      rules.align = Align::kCalendar;
      rules.calendar = std::make_shared<const Calendar>(
          "UTC", Calendar::Unit::kDay,
          std::make_shared<const std::vector<ZoneOffset>>(
              std::vector<ZoneOffset>{{0, 0}}));
      break;
    case Kind::kTail:
    case Kind::kTailUp:
      limit.algorithm = Algorithm::kSlidingTail;
      rules.round_up = kind == Kind::kTailUp;
      break;
    case Kind::kStep:
      limit.algorithm = Algorithm::kLeakyStep;
      limit.rate.emission_interval -=
          limit.rate.emission_interval % kMicrosecond;
      break;
    case Kind::kLog:
      limit.algorithm =
          count % 2 == 0 ? Algorithm::kSlidingLog : Algorithm::kSlidingWindow;
      if (count % 2 != 0) rules.bucket = period / 4;
      break;
    case Kind::kHeldGcra:
    case Kind::kHeldFixed:
    case Kind::kHeldCalendar:
    case Kind::kConcurrent:
      break;  // holds_differential_test.cpp
  }
  limit.rules = std::make_shared<const Rules>(std::move(rules));
  limit.suffix = traits_of(limit.algorithm).suffix;
  return limit;
}

void change_rules(Limit* limit, std::int64_t overrun, bool when_idle) {
  Rules rules = limit->rules != nullptr ? *limit->rules : Rules();
  rules.overrun = overrun;
  rules.overrun_when_idle = when_idle;
  limit->rules = std::make_shared<const Rules>(std::move(rules));
}

std::string text_of(const Plan& plan) {
  std::string text =
      "operation " + std::to_string(static_cast<int>(plan.operation));
  for (const Level& level : plan.levels) {
    const Verdict& verdict = level.verdict;
    text += "\n  " + std::string(traits_of(level.limit->algorithm).name) +
            " cost " + std::to_string(level.cost) + ": " +
            (verdict.limited ? "limited" : "allowed") +
            (verdict.charged ? " charged" : "") + (verdict.soft ? " soft" : "");
    for (const std::int64_t number :
         {verdict.remaining, verdict.retry_after.count(),
          verdict.reset_after.count(), verdict.next_after.count(),
          grows_after(level).count()}) {
      text += " " + std::to_string(number);
    }
    if (level.limit->is_plain()) continue;
    text += " after " + std::to_string(level.before);
  }
  return text;
}

// A plan whose levels are named after the indexes of their limits.
struct Asked {
  explicit Asked(Operation operation) : plan(operation) {
    plan.wants_growth = true;
  }
  Asked(const Asked& other) : Asked(other.plan.operation) {
    plan.pressure = other.plan.pressure;
    plan.denied = other.plan.denied;
    apart = other.apart;
    for (const Level& level : other.plan.levels) add(*level.limit, level.cost);
  }

  void add(const Limit& limit, std::int64_t cost) {
    const auto first = static_cast<std::uint32_t>(plan.segments.size());
    names.push_back(std::to_string(limit.index));
    const char* const caller = apart                  ? names.back().c_str()
                               : limit.index % 2 == 0 ? "even"
                                                      : "odd";
    plan.segments.emplace_back(caller, Segment::Kind::kCaller);
    plan.segments.emplace_back(names.back(), Segment::Kind::kExact);
    plan.add_level(&limit, first, 2u, cost);
  }

  bool apart = false;  // no two levels share a key
  std::deque<std::string> names;
  Plan plan;
};

class Layouts : public testing::TestWithParam<std::pair<Layout, bool>> {
 protected:
  // Starts at the real time, because a script is sent the calendar window of
  // this process's clock.
  Layouts() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    clock_.set(Instant(now - now % kMicrosecond));
  }

  static bool callers_clock() { return GetParam().second; }
  static Layout layout() { return GetParam().first; }

  // Replaces the scripts every 100 calls, so that there is always room for one
  // more.
  Scripts* scripts_of(Layout first) {
    const auto at = static_cast<std::size_t>(first);
    if (runs_[at]++ % 100 == 0) {
      scripts_[at] =
          std::make_unique<Scripts>(first == Layout::kWritten ? 100 : 0,
                                    first == Layout::kPassed ? 100 : 0);
    }
    return scripts_[at].get();
  }

  // Scripts decide by the clock of the memory store.  A script that would ask
  // the server for the time gets it as its last arguments instead.  Keys do not
  // expire.
  Reply run(const Plan& plan, LevelSet levels, std::string_view prefix,
            Layout first) {
    const Now now = callers_clock() ? Now(clock_.now()) : std::nullopt;
    Scripts* const scripts = scripts_of(first);
    EXPECT_TRUE(call_.encode(plan, levels, prefix, now, scripts).ok());
    std::string scratch;
    const Layout found =
        scripts->find(plan, Families(plan, levels), callers_clock(), &scratch)
            .layout;
    EXPECT_EQ(found, levels.size() > 12 || plan.denied ? Layout::kLoop : first);
    if (callers_clock()) {
      Reply reply = store_.send(call_.evalsha());
      const bool missing = reply->type == REDIS_REPLY_ERROR &&
                           std::string_view(reply->str).starts_with("NOSCRIPT");
      return missing ? store_.send(call_.eval()) : std::move(reply);
    }
    const Reply words = reply_of(call_.eval());
    std::string command;
    append_array(words->elements + 2, &command);
    for (std::size_t i = 0; i < words->elements; ++i) {
      std::string word(words->element[i]->str, words->element[i]->len);
      for (const auto& [from, to] :
           {std::pair<std::string, std::string>{
                "call('TIME')", "{ARGV[#ARGV - 1], ARGV[#ARGV]}"},
            {"call('EXPIRE',", "redis.log(redis.LOG_DEBUG,"}}) {
        for (std::size_t at; (at = word.find(from)) != word.npos;) {
          word.replace(at, from.size(), to);
        }
      }
      append_word(word, &command);
    }
    const std::int64_t us = clock_.now().time_since_epoch() / kMicrosecond;
    append_word(us / 1'000'000, &command);
    append_word(us % 1'000'000, &command);
    return store_.send(command);
  }

  void decide(Asked* asked, std::string_view prefix, Layout first) {
    const std::vector<std::uint32_t> levels =
        ScriptStore::all_levels(asked->plan);
    const Reply reply = run(asked->plan, levels, prefix, first);
    ASSERT_EQ(reply->type, REDIS_REPLY_STRING) << reply->str << call_.eval();
    said_ = {reply->str, reply->len};
    usages_.clear();
    usages_.resize(levels.size());
    ASSERT_TRUE(
        Call::read_reply(*reply, &asked->plan, levels, &charged_, &usages_)
            .ok())
        << reply->str;
    judge(asked->plan.operation, asked->plan.levels.data(),
          asked->plan.levels.size());
  }

  std::string stored(const Address& address) {
    const Reply reply = store_.send_words({"HGET", address.key, address.field});
    return reply->type == REDIS_REPLY_STRING
               ? std::string(reply->str, reply->len)
               : "";
  }

  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }

  // Only a caller's clock has nanoseconds.
  void advance(Duration most) {
    const Duration by(up_to(most.count()));
    clock_.advance(callers_clock() ? by : by - by % kMicrosecond);
  }

  // Mostly moves the clock forward, now and then to a whole millisecond or just
  // before it, where windows and the shares of them end.  Sometimes moves it
  // back, so that states are dated after now.
  void move_clock() {
    if (up_to(9) == 0) {
      clock_.set(clock_.now() - milliseconds(up_to(60)) * up_to(1) -
                 std::chrono::microseconds(up_to(3)));
      return;
    }
    advance(milliseconds(10));
    if (up_to(2) == 0) {
      const Duration past = clock_.now().time_since_epoch() % milliseconds(1);
      clock_.advance(milliseconds(1) - past -
                     std::chrono::microseconds(up_to(1)));
    }
  }

  enum class Others : std::uint8_t { kNone, kAllOrNothing };

  // Makes three limits of each kind.  Those that can be charged in that way
  // are, the others all or nothing, if they are wanted.
  void make_limits(Charge charge, Others others = Others::kAllOrNothing) {
    for (std::size_t k = 0; k < kKinds; ++k) {
      const Limit any = limit_of(static_cast<Kind>(k), 1, milliseconds(40));
      const bool able = can_charge(charge, any.algorithm);
      if (!able && others == Others::kNone) continue;
      for (const int count : {1, 3, 10}) {
        Limit limit = limit_of(
            static_cast<Kind>(k), count,
            count == 3 ? Duration(7'000'001) : Duration(milliseconds(40)));
        if (!limit.is_plain() && count == 3) {
          limit = limit_of(static_cast<Kind>(k), count, milliseconds(7));
        }
        if (count == 10) change_rules(&limit, 50, k % 2 == 0);
        limit.cost = count == 3 ? 2 : 1;
        limit.charge = able ? charge : Charge::kAllOrNothing;
        limit.index = static_cast<std::uint32_t>(limits_.size());
        limit.mode = count == 1 && k % 3 == 0   ? Mode::kShadow
                     : count == 1 && k % 3 == 1 ? Mode::kCheck
                                                : Mode::kEnforce;
        limits_.push_back(limit);
      }
    }
  }

  Asked random_request() {
    constexpr Operation kOperations[] = {
        Operation::kAuthorize, Operation::kAuthorize, Operation::kAuthorize,
        Operation::kPeek,      Operation::kSpend,     Operation::kRefund};
    constexpr std::int64_t kCosts[] = {1, 1, 1, 2, 3, 6, 0, INT64_MAX};
    Asked asked(kOperations[up_to(5)]);
    asked.plan.pressure = static_cast<std::int32_t>(up_to(4) * 250'000);
    std::vector<std::size_t> chosen(limits_.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    std::ranges::shuffle(chosen, random_);
    const auto count =
        static_cast<std::size_t>(up_to(29) == 0 ? 14 : 1 + up_to(2));
    chosen.resize(std::min(count, chosen.size()));
    const std::int64_t cost = kCosts[up_to(7)];
    for (const std::size_t at : chosen) {
      asked.add(limits_[at], saturating_cost(cost, limits_[at].cost));
    }
    return asked;
  }

  void agrees_with_the_memory_store(Charge charge,
                                    Others others = Others::kAllOrNothing) {
    make_limits(charge, others);
    MemoryStore memory{100'000, clock_.clock()};
    int limited = 0;
    int charged = 0;
    constexpr int kRequests = kSanitized ? 200 : 800;
    for (int i = 0; i < kRequests; ++i) {
      if (up_to(3) == 0) move_clock();
      Asked one = random_request();
      Asked two = one;
      ASSERT_TRUE(memory.decide(&one.plan).ok());
      decide(&two, "x:", layout());
      if (HasFatalFailure()) return;
      ASSERT_EQ(text_of(two.plan), text_of(one.plan))
          << "request " << i << ", " << said_;
      bool any = false;
      for (const Level& level : two.plan.levels) any |= level.verdict.charged;
      ASSERT_EQ(charged_, any) << text_of(two.plan);
      limited += one.plan.levels[0].verdict.limited;
      charged += any;
    }
    EXPECT_GT(limited, kRequests / 8);
    EXPECT_GT(charged, kRequests / 8);
  }

  void agree_on_any_state(Charge charge);

  std::mt19937 random_{1};
  std::deque<Limit> limits_;
  ManualClock clock_;
  const RedisServer server_;
  ScriptStore store_{server_};
  std::unique_ptr<Scripts> scripts_[3];
  int runs_[3] = {};
  Call call_;
  Usages usages_;
  std::string said_;
  bool charged_ = false;
};

std::string name_of(const testing::TestParamInfo<Layouts::ParamType>& one) {
  constexpr const char* kNames[] = {"Written", "Passed", "Loop"};
  return std::string(kNames[static_cast<std::size_t>(one.param.first)]) +
         (one.param.second ? "CallersClock" : "ServersClock");
}

INSTANTIATE_TEST_SUITE_P(All, Layouts,
                         testing::Values(std::pair(Layout::kWritten, false),
                                         std::pair(Layout::kWritten, true),
                                         std::pair(Layout::kPassed, false),
                                         std::pair(Layout::kPassed, true),
                                         std::pair(Layout::kLoop, false),
                                         std::pair(Layout::kLoop, true)),
                         name_of);

// With each microsecond, one unit of the previous window leaves.  A cost equal
// to what is left fits, and one unit more does not.
TEST_P(Layouts, WeighTheWindowBeforeToTheMicrosecond) {
  for (const Kind kind : {Kind::kTail, Kind::kTailUp}) {
    Limit limit = limit_of(kind, 1'000'000, std::chrono::seconds(1));
    limit.index = static_cast<std::uint32_t>(kind);
    const auto ask = [&](std::int64_t cost) {
      Asked asked(Operation::kAuthorize);
      asked.add(limit, cost);
      decide(&asked, "w:", layout());
      EXPECT_EQ(charged_, asked.plan.levels[0].verdict.charged) << said_;
      return asked.plan.levels[0].verdict.remaining;
    };
    int filled = 0;
    for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
      const std::int64_t left = ask(1);
      ask(left + 1);
      EXPECT_FALSE(charged_) << said_;
      ask(left);
      EXPECT_EQ(charged_, left > 0) << said_;
      filled += charged_;
      advance(milliseconds(24));
    }
    EXPECT_GT(filled, 50);
  }
}

TEST_P(Layouts, AgreeWithTheMemoryStore) {
  agrees_with_the_memory_store(Charge::kAllOrNothing);
}

TEST_P(Layouts, AgreeWithTheMemoryStoreWhereLevelsAreIndependent) {
  agrees_with_the_memory_store(Charge::kIndependent);
}

TEST_P(Layouts, AgreeWithTheMemoryStoreWhereEveryHitCounts) {
  agrees_with_the_memory_store(Charge::kEveryHit);
}

TEST_P(Layouts, AgreeWithTheMemoryStoreWhereOnlyHitsCount) {
  agrees_with_the_memory_store(Charge::kEveryHit, Others::kNone);
}

TEST_P(Layouts, AgreeWithTheMemoryStoreWhereDenialsCount) {
  agrees_with_the_memory_store(Charge::kAllOrDenying);
}

// A Lua function can have 200 local variables at most.  Twelve levels fit, even
// if each has its own key and as many arguments as there may be.
TEST_P(Layouts, TakeTwelveLevelsOfAnyKind) {
  MemoryStore memory{100'000, clock_.clock()};
  for (std::size_t k = 0; k < kKinds; ++k) {
    for (const Charge charge : {Charge::kAllOrNothing, Charge::kIndependent,
                                Charge::kAllOrDenying, Charge::kEveryHit}) {
      const Limit any = limit_of(static_cast<Kind>(k), 1, milliseconds(500));
      if (!can_charge(charge, any.algorithm)) continue;
      std::deque<Limit> limits;
      for (std::uint32_t i = 0; i < 12; ++i) {
        limits.push_back(
            limit_of(static_cast<Kind>(k), 3 + i % 2, milliseconds(500)));
        change_rules(&limits.back(), 50, true);
        limits.back().charge = charge;
        limits.back().index = static_cast<std::uint32_t>(12 * k) + i;
      }
      for (const Operation operation :
           {Operation::kAuthorize, Operation::kAuthorize, Operation::kAuthorize,
            Operation::kPeek, Operation::kRefund, Operation::kSpend}) {
        Asked one(operation);
        one.apart = true;
        for (const Limit& limit : limits) one.add(limit, 2);
        Asked two = one;
        ASSERT_TRUE(memory.decide(&one.plan).ok());
        decide(&two, "x:", layout());
        if (HasFatalFailure()) return;
        ASSERT_EQ(text_of(two.plan), text_of(one.plan)) << k << said_;
      }
    }
  }
}

// A log with an entry of one unit for each instant, in microseconds.
std::string log_of(std::initializer_list<std::int64_t> instants) {
  std::string log = {0, 0, 0, static_cast<char>(instants.size())};
  for (const std::int64_t at : instants) {
    for (int shift = 48; shift >= 0; shift -= 8) {
      log += static_cast<char>(at >> shift & 255);
    }
    log += {0, 0, 0, 1};
  }
  return log;
}

// A state of some units dated `at`, in microseconds.
std::string state_of(Kind kind, std::int64_t at, std::int64_t units,
                     std::int64_t gap) {
  switch (kind) {
    case Kind::kGcra:
      return std::to_string(at * 1000 + gap);
    case Kind::kFixed:
    case Kind::kFirst:
    case Kind::kCalendar:
      return std::to_string(at) + ":" + std::to_string(units);
    case Kind::kTail:
    case Kind::kTailUp:
      return std::to_string(at) + ":" + std::to_string(units) + ":" +
             std::to_string(gap % 3);
    case Kind::kStep:
      return std::to_string(at);
    case Kind::kLog:
      break;
    case Kind::kHeldGcra:
    case Kind::kHeldFixed:
    case Kind::kHeldCalendar:
    case Kind::kConcurrent:
      break;
  }
  return log_of({at, at + gap, at + 2 * gap});
}

// Two layouts give the same answer and leave the same state, byte for byte.
// The states that they find are of the past and the future, as if a server's
// clock had been put back.  Requests have one or several limits of any kind.
// In some plans, another part has denied.
void Layouts::agree_on_any_state(Charge charge) {
  const Layout other =
      layout() == Layout::kWritten ? Layout::kLoop : Layout::kWritten;
  make_limits(charge);
  int held = 0;
  for (int i = 0; i < 800; ++i) {
    advance(milliseconds(3));
    Asked one = random_request();
    one.plan.denied = up_to(5) == 0;
    for (const Level& level : one.plan.levels) {
      const Kind kind = kind_of(*level.limit);
      const Duration by = level.limit->period * (up_to(400) - 150) / 100 *
                              static_cast<int>(up_to(4) > 0) +
                          std::chrono::microseconds(up_to(4) - 2);
      const std::int64_t at =
          (clock_.now() + by).time_since_epoch() / kMicrosecond;
      const std::string state =
          state_of(kind, at, 1 + up_to(3), up_to(10) * (1 + up_to(1) * 999));
      for (const char* prefix : {"a:", "b:"}) {
        const Address address = address_of(one.plan, level, prefix);
        store_.send_words({"HSET", address.key, address.field, state});
      }
    }
    Asked two = one;
    decide(&one, "a:", other);
    const std::string expected = said_;
    decide(&two, "b:", layout());
    if (HasFatalFailure()) return;
    if (!one.plan.denied) {
      ASSERT_EQ(text_of(two.plan), text_of(one.plan)) << "request " << i;
    }
    ASSERT_EQ(said_[0], expected[0]) << said_ << "\n" << expected;
    for (const Level& level : one.plan.levels) {
      const std::string left = stored(address_of(one.plan, level, "a:"));
      ASSERT_EQ(stored(address_of(two.plan, level, "b:")), left)
          << text_of(one.plan) << "\n"
          << expected;
      held += is_held(one.plan, level) && !level.verdict.charged;
    }
  }
  EXPECT_GT(held, 25);
}

TEST_P(Layouts, AgreeOnAnyState) { agree_on_any_state(Charge::kAllOrNothing); }

TEST_P(Layouts, AgreeOnAnyStateWhereDenialsCount) {
  agree_on_any_state(Charge::kAllOrDenying);
}

TEST_P(Layouts, AgreeOnAnyStateWhereEveryHitCounts) {
  agree_on_any_state(Charge::kEveryHit);
}

// However far a clock was put back, the next request brings the stored state
// back to the present, whether or not it is denied.
TEST_P(Layouts, KnowStatesOfTheFuture) {
  for (std::size_t k = 0; k < kKinds; ++k) {
    const Kind kind = static_cast<Kind>(k);
    Limit limit = limit_of(kind, 4, milliseconds(100));
    Asked asked(Operation::kAuthorize);
    asked.add(limit, 1);
    const Address address = address_of(asked.plan, asked.plan.levels[0], "x:");
    const std::int64_t later = 4'000'000'000'000'000;
    const std::string state = kind == Kind::kLog
                                  ? log_of({later, later, later, later})
                                  : state_of(kind, later, 4, 0);
    store_.send_words({"HSET", address.key, address.field, state});
    decide(&asked, "x:", layout());
    EXPECT_EQ(said_[0], '-') << k;
    EXPECT_NE(stored(address), state) << k;
    clock_.advance(kind == Kind::kCalendar ? Duration(std::chrono::hours(24))
                                           : 3 * limit.period);
    if (kind == Kind::kCalendar && !callers_clock()) continue;
    decide(&asked, "x:", layout());
    EXPECT_EQ(said_[0], '+') << k;
  }
}

TEST_P(Layouts, RefuseWhatIsNoState) {
  for (std::size_t k = 0; k < kKinds; ++k) {
    const Limit limit = limit_of(static_cast<Kind>(k), 3, milliseconds(100));
    Asked asked(Operation::kAuthorize);
    asked.add(limit, 1);
    const Address address = address_of(asked.plan, asked.plan.levels[0], "x:");
    for (const char* state : {"nonsense", "", "1:", "-5", "7:7:7:7"}) {
      store_.send_words({"HSET", address.key, address.field, state});
      const Reply reply =
          run(asked.plan, ScriptStore::all_levels(asked.plan), "x:", layout());
      ASSERT_EQ(reply->type, REDIS_REPLY_ERROR) << k << state;
      EXPECT_TRUE(std::string_view(reply->str).starts_with("WRONGTYPE"))
          << reply->str;
      EXPECT_EQ(stored(address), state);
    }
  }
}

// A script that decides a part of a plan does not know the decision on the
// whole.  So for a log it reports both states: with the charge and without it.
TEST_P(Layouts, TellBothSidesOfALogInAPart) {
  const Limit log = limit_of(Kind::kLog, 4, milliseconds(100));
  Limit other = limit_of(Kind::kGcra, 4, milliseconds(100));
  other.index = 1;
  Asked asked(Operation::kAuthorize);
  asked.add(log, 1);
  asked.add(other, 1);
  const std::vector<std::uint32_t> part = {0};
  for (int i = 0; i < 2; ++i) {
    const Reply reply = run(asked.plan, part, "x:", layout());
    ASSERT_EQ(reply->type, REDIS_REPLY_STRING) << reply->str;
    usages_.clear();
    usages_.resize(2);
    ASSERT_TRUE(
        Call::read_reply(*reply, &asked.plan, part, &charged_, &usages_).ok());
    EXPECT_EQ(usages_[0].left.used, i);
    EXPECT_EQ(usages_[0].charged.used, i + 1);
    EXPECT_EQ(usages_[0].left.full_after, i * milliseconds(100));
    EXPECT_EQ(usages_[0].charged.full_after, milliseconds(100));
  }
}

}  // namespace
}  // namespace limitree::redis::layouts_test
