// How plans become bytes and replies become debts, without a server.

#include "store/redis/script/call.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/key.hpp"
#include "base/limit.hpp"
#include "store/redis/route/slot.hpp"

namespace limitree::redis::call_test {
namespace {

using Kind = Segment::Kind;

constexpr std::string_view kPrefix = "limitree:";

std::vector<std::uint32_t> all_levels(const Plan& plan) {
  std::vector<std::uint32_t> levels(plan.levels.size());
  std::iota(levels.begin(), levels.end(), 0u);
  return levels;
}

// A plan with a level for each depth from 1 to that of the path.
struct Path {
  Path(std::initializer_list<Segment> segments, const Limit& limit,
       Operation operation = Operation::kAuthorize, std::int64_t cost = 1)
      : plan(operation) {
    for (const Segment& segment : segments) plan.segments.push_back(segment);
    for (std::uint32_t i = 1; i <= segments.size(); ++i) {
      plan.add_level(&limit, 0, i, cost);
    }
  }

  std::string address(std::size_t level) const {
    const Address address = address_of(plan, plan.levels[level], kPrefix);
    return address.key + " " + address.field;
  }

  Plan plan;
};

const Limit& some_limit() {
  static const Limit limit = [] {
    Limit made;
    made.rate = make_rate(1, std::chrono::seconds(2), 5).value();
    return made;
  }();
  return limit;
}

TEST(Address, OfAFamilyAndItsParts) {
  const Path path({{"user", Kind::kExact},
                   {"alex", Kind::kCaller},
                   {"trade", Kind::kExact},
                   {"spot", Kind::kExact}},
                  some_limit());
  EXPECT_EQ(path.address(0), "limitree:{user} ");
  EXPECT_EQ(path.address(1), "limitree:{user:alex} ");
  EXPECT_EQ(path.address(2), "limitree:{user:alex} trade");
  EXPECT_EQ(path.address(3), "limitree:{user:alex} trade:spot");
}

TEST(Address, OfAFamilyBelowAnother) {
  const Path path({{"user", Kind::kExact},
                   {"alex", Kind::kCaller},
                   {"order", Kind::kExact},
                   {"17", Kind::kCaller},
                   {"legs", Kind::kExact}},
                  some_limit());
  EXPECT_EQ(path.address(2), "limitree:{user:alex} order");
  EXPECT_EQ(path.address(3), "limitree:{user:alex}:order:17 ");
  EXPECT_EQ(path.address(4), "limitree:{user:alex}:order:17 legs");
}

TEST(Address, OfWhatBelongsToNoCaller) {
  const Path path({{"api", Kind::kExact},
                   {"v1", Kind::kExact},
                   {"search", Kind::kExact},
                   {"files*", Kind::kPattern}},
                  some_limit());
  EXPECT_EQ(path.address(0), "limitree:{api} ");
  EXPECT_EQ(path.address(1), "limitree:{api} v1");
  EXPECT_EQ(path.address(2), "limitree:{api} v1:search");
  EXPECT_EQ(path.address(3), "limitree:{api:v1:search:files*} ");
}

TEST(Address, HasTheSuffixOfItsLimit) {
  Limit daily = some_limit();
  daily.suffix = "#daily";
  const Path path({{"user", Kind::kExact},
                   {"alex", Kind::kCaller},
                   {"trade", Kind::kExact}},
                  daily);
  EXPECT_EQ(path.address(0), "limitree:{user} #daily");
  EXPECT_EQ(path.address(1), "limitree:{user:alex} #daily");
  EXPECT_EQ(path.address(2), "limitree:{user:alex} trade#daily");
}

// Nothing that a caller sends can close the braces, or name the field that is
// the script's own.
TEST(Address, EscapesWhatCallersSend) {
  const Path path({{"user", Kind::kExact},
                   {"a}:b{ *\n%", Kind::kCaller},
                   {":", Kind::kExact},
                   {"", Kind::kExact},
                   {"", Kind::kCaller},
                   {std::string_view("\xff\0", 2), Kind::kCaller}},
                  some_limit());
  EXPECT_EQ(path.address(1), "limitree:{user:a%7D%3Ab%7B%20%2A%0A%25} ");
  EXPECT_EQ(path.address(2), "limitree:{user:a%7D%3Ab%7B%20%2A%0A%25} %3A");
  EXPECT_EQ(path.address(3), "limitree:{user:a%7D%3Ab%7B%20%2A%0A%25} %3A:%");
  EXPECT_EQ(path.address(4),
            "limitree:{user:a%7D%3Ab%7B%20%2A%0A%25}:%3A:%:% ");
  EXPECT_EQ(path.address(5),
            "limitree:{user:a%7D%3Ab%7B%20%2A%0A%25}:%3A:%:%:%FF%00 ");
}

// Different buckets have different addresses, and all buckets of one caller
// share a slot.  The kind of a segment belongs to its place in the tree, so
// here it depends on the depth.
TEST(Address, IsInjectiveAndKeepsACallerInOneSlot) {
  constexpr std::string_view kTexts[] = {"", "a", "b", "a:b", "}", "{", "%"};
  std::mt19937 random(1);
  std::set<std::string> addresses;
  std::set<std::string> names;
  for (int i = 0; i < 3000; ++i) {
    Plan plan(Operation::kAuthorize);
    const auto depth = static_cast<std::uint32_t>(1 + random() % 5);
    for (std::uint32_t at = 0; at < depth; ++at) {
      plan.segments.emplace_back(
          kTexts[random() % std::size(kTexts)],
          at == 1 || at == 3 ? Kind::kCaller : Kind::kExact);
    }
    for (std::uint32_t at = 1; at <= depth; ++at) {
      plan.add_level(&some_limit(), 0, at, 1);
      const Level& level = plan.levels.back();
      const Address address = address_of(plan, level, kPrefix);
      addresses.insert(address.key + " " + address.field);
      names.insert(bucket_name(plan, level));
      if (at < 2) continue;
      EXPECT_EQ(slot_of(address.key),
                slot_of(address_of(plan, plan.levels[1], kPrefix).key));
    }
  }
  EXPECT_EQ(addresses.size(), names.size());
}

// The words of a command.
std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  const auto number = [&] {
    command.remove_prefix(1);
    const std::size_t end = command.find("\r\n");
    const auto value = std::stoul(std::string(command.substr(0, end)));
    command.remove_prefix(end + 2);
    return value;
  };
  for (std::size_t left = number(); left > 0; --left) {
    const std::size_t size = number();
    words.emplace_back(command.substr(0, size));
    command.remove_prefix(size + 2);
  }
  EXPECT_TRUE(command.empty()) << command;
  return words;
}

std::vector<std::string> arguments(const Call& call) {
  std::vector<std::string> words = words_of(call.evalsha());
  const std::vector<std::string> eval = words_of(call.eval());
  EXPECT_EQ(words[0], "EVALSHA");
  EXPECT_EQ(eval[0], "EVAL");
  EXPECT_EQ(words[1], Script(eval[1]).sha1);
  words.erase(words.begin(), words.begin() + 2);
  EXPECT_EQ(words, std::vector(eval.begin() + 2, eval.end()));
  return words;
}

TEST(Call, NamesFamiliesAndLimits) {
  Path path({{"user", Kind::kExact},
             {"alex", Kind::kCaller},
             {"trade", Kind::kExact}},
            some_limit(), Operation::kSpend, 3);
  Call call;
  ASSERT_TRUE(call.encode(path.plan, all_levels(path.plan), kPrefix,
                          Instant(Duration(1'750'000'000'000'000'007)))
                  .ok());
  EXPECT_EQ(arguments(call),
            (std::vector<std::string>{"2", "limitree:{user}",
                                      "limitree:{user:alex}", "1750000000", "0",
                                      "007", "6000000", "6000000", "6000000"}));

  // A call for a part of the plan, as in a cluster.
  const std::uint32_t part[] = {1, 2};
  ASSERT_TRUE(call.encode(path.plan, part, kPrefix, {}).ok());
  EXPECT_EQ(arguments(call),
            (std::vector<std::string>{"1", "limitree:{user:alex}", "6000000",
                                      "6000000"}));
}

// Neither of these has room for scripts of an earlier layout.
Scripts* passed() {
  static Scripts scripts(0);
  return &scripts;
}
Scripts* loops() {
  static Scripts scripts(0, 0);
  return &scripts;
}

// The numbers of a limit are part of the text of the script.
TEST(Call, HasNoArgumentsForTheUsualCost) {
  Path path({{"user", Kind::kExact}, {"alex", Kind::kCaller}}, some_limit());
  Call call;
  ASSERT_TRUE(call.encode(path.plan, all_levels(path.plan), kPrefix, {}).ok());
  EXPECT_EQ(arguments(call),
            (std::vector<std::string>{"2", "limitree:{user}",
                                      "limitree:{user:alex}"}));
  EXPECT_EQ(call.joinable().key_count, 2u);
}

// Times are passed in whole microseconds, followed by the nanoseconds beyond
// them if the limit has any.
TEST(Call, PassesWhatVaries) {
  Limit limit;
  limit.rate = make_rate(1, Duration(1'500'007), 5).value();
  Path path({{"user", Kind::kExact}}, limit, Operation::kAuthorize, 3);
  const std::vector<std::uint32_t> levels = all_levels(path.plan);
  Call call;
  ASSERT_TRUE(call.encode(path.plan, levels, kPrefix, {}).ok());
  EXPECT_EQ(arguments(call),
            (std::vector<std::string>{"1", "limitree:{user}", "4500", "21"}));
  EXPECT_EQ(call.joinable().script, nullptr);

  ASSERT_TRUE(call.encode(path.plan, levels, kPrefix, {}, passed()).ok());
  EXPECT_EQ(arguments(call),
            (std::vector<std::string>{"1", "limitree:{user}", "4500", "21",
                                      "7500", "35", "7500", "35"}));
  ASSERT_TRUE(call.encode(path.plan, levels, kPrefix, {}, loops()).ok());
  EXPECT_EQ(arguments(call), (std::vector<std::string>{
                                 "1", "limitree:{user}", "1", "", "0", "1", "1",
                                 "4500", "21", "7500", "35", "7500", "35"}));
}

// Whether a level may deny the request, and when it is charged.
TEST(Call, TellsWhatModesAndOperationsMean) {
  struct Row {
    Operation operation;
    Mode mode;
    Charge charge;
    std::int64_t cost;
    const char* denies;
    const char* when;
    const char* charge_us;
  };
  constexpr auto kAll = Charge::kAllOrNothing;
  constexpr auto kEach = Charge::kIndependent;
  constexpr Row kRows[] = {
      {Operation::kAuthorize, Mode::kEnforce, kAll, 2, "1", "1", "4000000"},
      {Operation::kAuthorize, Mode::kEnforce, kEach, 2, "1", "2", "4000000"},
      {Operation::kAuthorize, Mode::kShadow, kAll, 2, "0", "1", "4000000"},
      {Operation::kAuthorize, Mode::kShadow, kEach, 2, "0", "2", "4000000"},
      {Operation::kAuthorize, Mode::kCheck, kAll, 2, "1", "0", "4000000"},
      {Operation::kAuthorize, Mode::kEnforce, kAll, 0, "0", "0", "0"},
      {Operation::kAuthorize, Mode::kEnforce, kAll, 6, "1", "1",
       "10000000000000000"},
      {Operation::kPeek, Mode::kEnforce, kAll, 2, "1", "0", "4000000"},
      {Operation::kPeek, Mode::kEnforce, kAll, 6, "1", "0",
       "10000000000000000"},
      {Operation::kSpend, Mode::kEnforce, kEach, 2, "0", "1", "4000000"},
      {Operation::kSpend, Mode::kShadow, kAll, 6, "0", "1", "10000000"},
      {Operation::kSpend, Mode::kCheck, kAll, 2, "0", "0", "4000000"},
      {Operation::kRefund, Mode::kEnforce, kAll, 6, "0", "1", "10000000"},
      {Operation::kRefund, Mode::kCheck, kAll, 2, "0", "0", "4000000"},
      {Operation::kRefund, Mode::kEnforce, kAll, 0, "0", "0", "0"},
  };
  for (const Row& row : kRows) {
    Limit limit = some_limit();
    limit.mode = row.mode;
    limit.charge = row.charge;
    const Path path({{"user", Kind::kExact}}, limit, row.operation, row.cost);
    Call call;
    ASSERT_TRUE(
        call.encode(path.plan, all_levels(path.plan), kPrefix, {}, loops())
            .ok());
    const std::vector<std::string> words = arguments(call);
    EXPECT_EQ(words[5], row.denies) << &row - kRows;
    EXPECT_EQ(words[6], row.when) << &row - kRows;
    EXPECT_EQ(words[7], row.charge_us) << &row - kRows;
  }
}

TEST(Call, TellsWhenHitsAreCharged) {
  struct Row {
    Operation operation;
    Charge charge;
    std::int64_t cost;
    bool denied;  // by another slot
    const char* denies;
    const char* when;
    const char* ceiling;
  };
  constexpr auto kAll = Charge::kAllOrDenying;
  constexpr auto kEach = Charge::kEveryHit;
  constexpr Row kRows[] = {
      {Operation::kAuthorize, kEach, 2, false, "1", "4", "9"},
      {Operation::kAuthorize, kEach, 2, true, "1", "4", "9"},
      {Operation::kAuthorize, kEach, 0, false, "1", "0", "9"},
      {Operation::kAuthorize, kAll, 2, false, "1", "5", "9"},
      {Operation::kAuthorize, kAll, 2, true, "1", "6", "9"},
      {Operation::kAuthorize, kAll, 0, true, "1", "0", "9"},
      {Operation::kPeek, kEach, 2, false, "1", "0", "9"},
      {Operation::kPeek, kAll, 0, false, "1", "0", "9"},
      {Operation::kSpend, kEach, 2, false, "0", "1", "4000000000"},
      {Operation::kSpend, kAll, 2, false, "0", "1", "4000000000"},
      {Operation::kRefund, kEach, 2, false, "0", "1", "9"},
      {Operation::kRefund, kAll, 0, false, "0", "0", "9"},
  };
  for (const Row& row : kRows) {
    Limit limit = make_counter(9, std::chrono::minutes(1));
    limit.charge = row.charge;
    Path path({{"user", Kind::kExact}}, limit, row.operation, row.cost);
    path.plan.denied = row.denied;
    Call call;
    ASSERT_TRUE(
        call.encode(path.plan, all_levels(path.plan), kPrefix, {}, loops())
            .ok());
    const std::vector<std::string> words = arguments(call);
    EXPECT_EQ(words[3], "!fw");
    EXPECT_EQ(words[5], row.denies) << &row - kRows;
    EXPECT_EQ(words[6], row.when) << &row - kRows;
    EXPECT_EQ(words[7], std::to_string(row.cost)) << &row - kRows;
    EXPECT_EQ(words[8], row.ceiling) << &row - kRows;
  }
}

// Levels of one key stand together, whatever lies between them in the plan.
TEST(Call, GathersWhatSharesAKey) {
  Plan plan(Operation::kPeek);
  for (const Segment& segment :
       {Segment{"user", Kind::kExact}, Segment{"alex", Kind::kCaller},
        Segment{"trade", Kind::kExact}, Segment{"ip", Kind::kExact},
        Segment{"::1", Kind::kCaller}, Segment{"user", Kind::kExact},
        Segment{"alex", Kind::kCaller}, Segment{"spot", Kind::kExact}}) {
    plan.segments.push_back(segment);
  }
  plan.add_level(&some_limit(), 0, 3, 0);
  plan.add_level(&some_limit(), 3, 2, 0);
  plan.add_level(&some_limit(), 5, 3, 0);
  Call call;
  ASSERT_TRUE(call.encode(plan, all_levels(plan), kPrefix, {}, loops()).ok());
  const std::vector<std::string> words = arguments(call);
  EXPECT_EQ(words[1], "limitree:{user:alex}");
  EXPECT_EQ(words[2], "limitree:{ip:%3A%3A1}");
  EXPECT_EQ(words[3], "2");
  EXPECT_EQ(words[4], "trade");
  EXPECT_EQ(words[5], "spot");
}

TEST(Call, RefusesWhatTheScriptCannotCompute) {
  const Path negative({{"user", Kind::kExact}}, some_limit(),
                      Operation::kAuthorize, -1);
  Call call;
  EXPECT_EQ(
      call.encode(negative.plan, all_levels(negative.plan), kPrefix, {}).code(),
      Code::kInvalidArgument);

  const Path path({{"user", Kind::kExact}}, some_limit());
  const std::vector<std::uint32_t> levels = all_levels(path.plan);
  const Instant last =
      Instant(std::chrono::microseconds(std::int64_t{1} << 53)) -
      kMaxBurstOffset;
  EXPECT_TRUE(call.encode(path.plan, levels, kPrefix, last).ok());
  EXPECT_TRUE(call.encode(path.plan, levels, kPrefix, Instant{}).ok());
  for (const Instant now : {Instant(Duration(-1)), last + Duration(1),
                            Instant::min(), Instant::max()}) {
    EXPECT_EQ(call.encode(path.plan, levels, kPrefix, now).code(),
              Code::kInvalidArgument);
  }
}

class Answer {
 public:
  explicit Answer(std::string text) : text_(std::move(text)) {
    reply_.type = REDIS_REPLY_STRING;
    reply_.str = text_.data();
    reply_.len = static_cast<decltype(reply_.len)>(text_.size());
  }
  redisReply* operator->() { return &reply_; }

  // Reads the reply for a plan of two levels that share a key.
  Code read() {
    const std::vector<std::uint32_t> levels = all_levels(path.plan);
    path.plan.levels[0].debt = path.plan.levels[1].debt = Duration(-77);
    const Status status =
        Call::read_reply(reply_, &path.plan, levels, &charged);
    if (!status.ok()) {
      EXPECT_EQ(path.plan.levels[0].debt, Duration(-77));
      EXPECT_EQ(path.plan.levels[1].debt, Duration(-77));
    }
    return status.code();
  }
  Duration debt(std::size_t level) const {
    return path.plan.levels[level].debt;
  }

  Path path{{{"user", Kind::kExact}, {"pro", Kind::kExact}}, some_limit()};
  bool charged = false;

 private:
  std::string text_;
  redisReply reply_{};
};

TEST(Reply, GivesTheDebts) {
  Answer one("+ 1750000000 123000 1750000001000000000 1749999999000000000");
  ASSERT_EQ(one.read(), Code::kOk);
  EXPECT_TRUE(one.charged);
  EXPECT_EQ(one.debt(0), Duration(999'877'000));
  EXPECT_EQ(one.debt(1), Duration(-1'000'123'000));

  Answer none("- 5 0  ");
  none.charged = true;
  ASSERT_EQ(none.read(), Code::kOk);
  EXPECT_FALSE(none.charged);
  EXPECT_EQ(none.debt(0), Duration(0));
  EXPECT_EQ(none.debt(1), Duration(0));

  Answer late("- 0 0 9223372036854775807 9999999999999999999");
  ASSERT_EQ(late.read(), Code::kOk);
  EXPECT_EQ(late.debt(0), Duration::max());
  EXPECT_EQ(late.debt(1), Duration::max());
}

TEST(Reply, AnswersFamilyByFamily) {
  Plan plan(Operation::kPeek);
  for (const Segment& segment :
       {Segment{"user", Kind::kExact}, Segment{"alex", Kind::kCaller},
        Segment{"trade", Kind::kExact}, Segment{"ip", Kind::kExact},
        Segment{"::1", Kind::kCaller}, Segment{"user", Kind::kExact},
        Segment{"alex", Kind::kCaller}, Segment{"spot", Kind::kExact}}) {
    plan.segments.push_back(segment);
  }
  plan.add_level(&some_limit(), 0, 3, 0);
  plan.add_level(&some_limit(), 3, 2, 0);
  plan.add_level(&some_limit(), 5, 3, 0);
  std::string text = "- 100 0 100000000001 100000000002 100000000003";
  redisReply reply{};
  reply.type = REDIS_REPLY_STRING;
  reply.str = text.data();
  reply.len = static_cast<decltype(reply.len)>(text.size());
  bool charged = false;
  ASSERT_TRUE(Call::read_reply(reply, &plan, all_levels(plan), &charged).ok());
  EXPECT_EQ(plan.levels[0].debt, Duration(1));
  EXPECT_EQ(plan.levels[2].debt, Duration(2));
  EXPECT_EQ(plan.levels[1].debt, Duration(3));
}

TEST(Reply, OfAnotherShapeIsNone) {
  for (const char* text : {"",
                           " ",
                           "+",
                           "-",
                           "+ ",
                           "+ 1",
                           "+ 1 2",
                           "+ 1 2 3",
                           "+ 1 2 3 4 5",
                           "+ 1 2 3 4 ",
                           "+ 1 2 3  4",
                           "* 1 2 3 4",
                           "+1 2 3 4",
                           "++ 1 2 3 4",
                           "+ x 2 3 4",
                           "+ 1 x 3 4",
                           "+ 1 2 x 4",
                           "+ 1 2 3 x",
                           "+ -1 2 3 4",
                           "+ 1 -2 3 4",
                           "+ 1 2 -3 4",
                           "+ 1 2 3 -4",
                           "+ 1 1000000000 3 4",
                           "+ 9223372036 0 3 4",
                           "+ 99999999999999999999 0 3 4",
                           "+ 1 2 10000000000000000000 4",
                           "+ 1 2 3 4.5",
                           "+ 1 2 3 1e5",
                           "+ 1 2 3 +4",
                           "+ 1 2 0x3 4",
                           "+  2 3 4",
                           "+ 1  3 4",
                           "OK"}) {
    EXPECT_EQ(Answer(text).read(), Code::kStoreProtocol) << text;
  }
  for (const int type :
       {REDIS_REPLY_ARRAY, REDIS_REPLY_INTEGER, REDIS_REPLY_NIL,
        REDIS_REPLY_STATUS, REDIS_REPLY_ERROR, 0, 99}) {
    Answer answer("+ 1 2 3 4");
    ASSERT_EQ(answer.read(), Code::kOk);
    answer->type = type;
    EXPECT_EQ(answer.read(), Code::kStoreProtocol) << type;
  }
  Answer null("+ 1 2 3 4");
  null->str = nullptr;
  EXPECT_EQ(null.read(), Code::kStoreProtocol);
}

// Random damage to a good reply is either noticed or gives debts in range.
TEST(Reply, SurvivesAnyBytes) {
  std::mt19937 random(7);
  int good = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text = "+ 1750000000 123000 1750000001000000000 ";
    for (std::size_t edits = random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % (text.size() + 1);
      const char byte = random() % 2 == 0 ? static_cast<char>(random())
                                          : "0123456789+- "[random() % 13];
      switch (random() % 3) {
        case 0:
          text.insert(at, 1, byte);
          break;
        case 1:
          text.erase(at, random() % 4);
          break;
        default:
          if (at < text.size()) text[at] = byte;
      }
    }
    Answer answer(text);
    const Code code = answer.read();
    ASSERT_TRUE(code == Code::kOk || code == Code::kStoreProtocol) << text;
    good += code == Code::kOk;
  }
  EXPECT_GT(good, 20'000);
  EXPECT_LT(good, 80'000);
}

TEST(Reset, NamesKeyAndField) {
  const Path path({{"user", Kind::kExact},
                   {"alex", Kind::kCaller},
                   {"trade", Kind::kExact}},
                  some_limit());
  std::vector<std::vector<std::string>> named;
  for (const Level& level : path.plan.levels) {
    std::vector<std::string> words =
        words_of(reset_command(address_of(path.plan, level, kPrefix)));
    EXPECT_EQ(words[0], "EVAL");
    words.erase(words.begin(), words.begin() + 2);
    named.push_back(std::move(words));
  }
  EXPECT_EQ(named, (std::vector<std::vector<std::string>>{
                       {"1", "limitree:{user}", ""},
                       {"1", "limitree:{user:alex}", ""},
                       {"1", "limitree:{user:alex}", "trade"}}));
}

}  // namespace
}  // namespace limitree::redis::call_test
