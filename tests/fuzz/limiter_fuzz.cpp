// Operations in an order that nobody thought of, over the C interface.
//
// The input makes limits and plays with a limiter of them and a clock, which
// also steps back.  Whatever it plays: every answer keeps the rules of
// answer.hpp, a peek foretells what authorize answers and changes nothing, and
// each wait that is told is true: it is over then, and not a nanosecond before.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "answer.hpp"
#include "limitree.hpp"
#include "random_input.hpp"

namespace {

constexpr std::size_t kMostLevels = 32;
constexpr int kMostOperations = 100;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = kSecond * 1'700'000'000;
// So far from 1970 no wait ends beyond the end of time.  Where one may, nothing
// is asked but that nothing breaks.
constexpr std::int64_t kFarAway = kSecond * 2'500'000'000;
constexpr std::string_view kFirstLimits =
    "schema: {api: {limits: 2/s}, user: {children: {'*': {limits: 3/s}}}}";

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

void expect_failure(limitree_status status, limitree_error* error) {
  require(status < 0 && error != nullptr);
  require(limitree_error_status(error) == status);
  require(limitree_error_count(error) >= 1);
  require(!std::string_view(limitree_error_message(error)).empty());
  limitree_error_free(error);
}

// One path or two, what is asked for along them, and their parts.
struct Question {
  explicit Question(RandomInput* input) {
    size = input->one_in(3) ? 2 : 1;
    for (std::size_t i = 0; i < size; ++i) {
      const int form = input->byte() % 4;
      const std::string_view caller = input->one_in(2) ? "b" : "a";
      segments[i] = {str(form == 0 ? "api" : "user"), str(caller),
                     str("trade")};
      constexpr std::int64_t kCosts[] = {1, 2, 3, 5, 20, 0, 1000, INT64_MAX};
      const std::int64_t cost = input->one_in(2) ? input->pick(kCosts) : 1;
      const std::size_t depth = form == 0 ? 1 : form == 1 ? 3 : 2;
      const std::int32_t part = size == 2 && input->one_in(3)
                                    ? std::int32_t{input->byte()} % 3
                                    : LIMITREE_PART_CHARGE;
      paths[i] = {segments[i].data(), depth, cost, part};
    }
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  std::array<std::array<limitree_str, 3>, 2> segments{};
  std::array<limitree_path, 2> paths{};
  std::size_t size;
};

class Game {
 public:
  explicit Game(RandomInput* input);
  ~Game() { limitree_limiter_free(limiter_); }
  Game(const Game&) = delete;
  Game& operator=(const Game&) = delete;

  void play();

 private:
  Answer ask(std::int32_t operation, const Question& question,
             bool look = false);
  // What a peek answers after `wait`, if nobody else comes.
  Answer peek_after(std::int64_t wait, const Question& question, bool look) {
    now_ += wait;
    Answer answer = ask(LIMITREE_PEEK, question, look);
    now_ -= wait;
    return answer;
  }
  // Aborts unless `fact` holds of that after `wait`, and not before.
  template <typename Fact>
  void check_wait(std::int64_t wait, const Question& question, bool look,
                  Fact fact) {
    require(fact(peek_after(wait, question, look)));
    if (wait > 0) require(!fact(peek_after(wait - 1, question, look)));
  }

  void operate(std::int32_t operation);
  void check_effect(const Answer& before, const Answer& answer,
                    const Answer& after);
  void check_fits(const Question& question, const Answer& answer);
  void check_growth(const Question& question, const Answer& answer,
                    const Answer& after);
  void step_clock();
  void reload();
  void reset();
  void set_pressure();
  void mistake();

  // Whether what `answer` leaves at `level` stays.  Where limits became longer,
  // a bucket may count again that was over, and then what is charged beside it
  // may take its place.
  bool is_kept(const Answer& answer, const limitree_level& level) const {
    if (!may_be_ahead_ || level.charged != 0) return true;
    return std::ranges::none_of(answer.levels, &limitree_level::charged);
  }

  // Whether what is found at `level` is also what is stored there.  It is not
  // if the state lies ahead, which only a level that is charged corrects.
  bool is_settled(const Answer& answer, const limitree_level& level) const {
    if (!may_be_ahead_) return true;
    return level.mode == LIMITREE_ENFORCE && level.cost > 0 &&
           is_kept(answer, level);
  }

  bool is_far() const { return now_ < -kFarAway || now_ > kFarAway; }

  RandomInput& input_;
  limitree_limiter* limiter_ = nullptr;
  std::int64_t now_ = kStart;
  std::int64_t last_wait_ = 0;
  bool may_be_ahead_ = false;  // the clock has stepped back, limits changed
  std::int64_t authorized_ = 0;
};

Game::Game(RandomInput* input) : input_(*input) {
  limitree_config* const config = limitree_config_new();
  require(config != nullptr);
  const auto clock = [](void* now) { return *static_cast<std::int64_t*>(now); };
  require(limitree_config_set_clock(config, clock, &now_, nullptr) == 0);
  require(limitree_config_set(config, "max_buckets", str("1000"), nullptr) ==
          0);
  const std::string limits = random_limits(input);
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_config_set_limits(config, str(limits), str("f"), &error);
  if (status != LIMITREE_OK) {
    expect_failure(status, error);
    require(limitree_config_set_limits(config, str(kFirstLimits), str("f"),
                                       nullptr) == 0);
  }
  require(limitree_limiter_new(config, &limiter_, nullptr) == 0);
  limitree_config_free(config);
}

// If `look`, of cost 0: what is left as it is.
Answer Game::ask(std::int32_t operation, const Question& question, bool look) {
  auto paths = question.paths;
  for (limitree_path& path : paths) path.cost = look ? 0 : path.cost;
  Answer answer{};
  answer.levels.resize(kMostLevels);
  limitree_error* error = nullptr;
  require(limitree_decide(limiter_, operation, paths.data(), question.size,
                          answer.levels.data(), kMostLevels, &answer.decision,
                          &error) == LIMITREE_OK);
  require(error == nullptr);
  const auto count = static_cast<std::size_t>(answer.decision.level_count);
  require(count <= kMostLevels);
  answer.levels.resize(count);
  if (!is_far()) check_answer(answer, operation);
  return answer;
}

void Game::operate(std::int32_t operation) {
  const Question question(&input_);
  const Answer before = peek_after(0, question, true);
  const Answer foretold = peek_after(0, question, false);
  require(same(foretold, peek_after(0, question, false)));
  require(same(before, peek_after(0, question, true)));
  const Answer answer = ask(operation, question);
  if (operation == LIMITREE_AUTHORIZE) {
    require(same(foretold, answer));
    ++authorized_;
    last_wait_ = answer.decision.next_after_ns;
  }
  const Answer after = peek_after(0, question, true);
  if (is_far()) return;
  if (operation != LIMITREE_PEEK) check_effect(before, answer, after);
  if (operation == LIMITREE_PEEK && may_be_ahead_) return;
  if (operation == LIMITREE_AUTHORIZE) check_fits(question, answer);
  check_growth(question, answer, after);
  require(same(after, peek_after(0, question, true)));
}

void Game::check_effect(const Answer& before, const Answer& answer,
                        const Answer& after) {
  for (std::size_t i = 0; i < answer.levels.size(); ++i) {
    const limitree_level& level = answer.levels[i];
    if (!is_kept(answer, level)) continue;
    const bool unchanged = same_state(after.levels[i], before.levels[i]);
    if (level.mode == LIMITREE_CHECK) require(unchanged);
    if (level.mode == LIMITREE_ENFORCE) {
      require(same_state(after.levels[i], level));
    }
    if (level.charged == 0) require(unchanged);
  }
}

// What `answer`, to authorize, says of when the same fits.
void Game::check_fits(const Question& question, const Answer& answer) {
  const bool denied = answer.decision.limited != 0;
  bool known = true;
  for (std::size_t i = 0; i < answer.levels.size(); ++i) {
    const limitree_level& level = answer.levels[i];
    const bool counts = level.mode != LIMITREE_SHADOW;
    known &= !counts || is_settled(answer, level);
    // Of what fits and is only checked, it is told as if it were charged.
    const bool told = level.limited != 0 || level.mode == LIMITREE_ENFORCE;
    known &= !counts || told || level.next_after_ns == 0;
    if (!told || !is_settled(answer, level)) continue;
    if (level.next_after_ns == LIMITREE_NEVER) continue;
    check_wait(level.next_after_ns, question, false,
               [i](const Answer& then) { return then.levels[i].limited == 0; });
  }
  const std::int64_t wait =
      denied ? answer.decision.retry_after_ns : answer.decision.next_after_ns;
  if (!known || wait == LIMITREE_NEVER) return;
  check_wait(wait, question, false,
             [](const Answer& then) { return then.decision.limited == 0; });
}

// When more is left than `after` finds, and when all.
void Game::check_growth(const Question& question, const Answer& answer,
                        const Answer& after) {
  for (std::size_t i = 0; i < after.levels.size(); ++i) {
    if (!is_settled(answer, answer.levels[i])) continue;
    const limitree_level& level = after.levels[i];
    check_wait(level.reset_after_ns, question, true, [i](const Answer& then) {
      return then.levels[i].reset_after_ns == 0;
    });
    if (level.grows_after_ns == 0) continue;
    const auto grown = [&, i](const Answer& then) {
      require(then.levels[i].remaining >= level.remaining);
      return then.levels[i].remaining > level.remaining;
    };
    check_wait(level.grows_after_ns, question, true, grown);
  }
}

void Game::step_clock() {
  constexpr std::int64_t kSteps[] = {1,
                                     999,
                                     1000,
                                     kSecond / 1000,
                                     kSecond,
                                     60 * kSecond,
                                     3600 * kSecond,
                                     86400 * kSecond,
                                     7 * 86400 * kSecond};
  constexpr std::int64_t kEnds[] = {INT64_MIN, INT64_MAX, 0, kStart, -kFarAway};
  if (input_.one_in(32)) {
    now_ = input_.pick(kEnds);
    may_be_ahead_ = true;
    return;
  }
  const bool back = input_.one_in(4);
  std::int64_t step = input_.pick(kSteps);
  step *= input_.one_in(2) ? input_.byte() : 1;
  if (input_.one_in(3) && last_wait_ != LIMITREE_NEVER) step = last_wait_;
  may_be_ahead_ |= back;
  std::int64_t now = 0;
  if (!__builtin_add_overflow(now_, back ? -step : step, &now)) now_ = now;
}

void Game::reload() {
  const std::string limits = random_limits(&input_);
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_limiter_reload(limiter_, str(limits), str("f"), &error);
  if (status != LIMITREE_OK) return expect_failure(status, error);
  may_be_ahead_ = true;
}

void Game::reset() {
  const Question question(&input_);
  const limitree_path& path = question.paths[0];
  const std::int32_t leaf = input_.byte() % 2;
  require(limitree_reset(limiter_, path.segments, path.size, leaf, nullptr) ==
          0);
  const Answer after = peek_after(0, question, true);
  for (const limitree_level& level : after.levels) {
    if (leaf != 0 || level.path != 0) continue;
    require(level.remaining == level.limit && level.reset_after_ns == 0);
  }
}

void Game::set_pressure() {
  const double pressure = input_.byte() / 128.0;
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_set_pressure(limiter_, pressure, &error);
  if (pressure > 1) return expect_failure(status, error);
  require(status == LIMITREE_OK && error == nullptr);
}

// Nothing that is refused is answered.
void Game::mistake() {
  Question question(&input_);
  const int kind = input_.byte() % 4;
  if (kind == 0) question.paths[0].cost = -1;
  if (kind == 1) question.paths[0].size = 0;
  if (kind == 2) question.segments[0][0] = str("nobody");
  const std::int32_t operation =
      kind == 3 ? LIMITREE_LOOK + 1 : input_.byte() % 4;
  limitree_decision decision{};
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_decide(limiter_, operation, question.paths.data(), question.size,
                      nullptr, 0, &decision, &error);
  expect_failure(status, error);
  require(decision.level_count == 0 && decision.limit == 0);
}

void Game::play() {
  for (int i = 0; i < kMostOperations && !input_.over(); ++i) {
    const int what = input_.byte() % 32;
    if (what < 12)
      operate(LIMITREE_AUTHORIZE);
    else if (what < 14)
      operate(LIMITREE_PEEK);
    else if (what < 16)
      operate(LIMITREE_SPEND);
    else if (what < 18)
      operate(LIMITREE_REFUND);
    else if (what < 27)
      step_clock();
    else if (what < 29)
      reload();
    else if (what < 30)
      reset();
    else if (what < 31)
      set_pressure();
    else
      mistake();
  }
  const limitree::Counters stats = limitree::totals(
      limiter_, LIMITREE_SCOPE_REQUESTS | LIMITREE_SCOPE_STORE);
  require(stats["allowed"] + stats["limited"] == authorized_);
  require(stats["evictions"] == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  RandomInput input(data, size);
  Game(&input).play();
  return 0;
}
