#include "store/redis/wire/pipeline.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/redis/joining.hpp"
#include "store/redis/common/error_reply.hpp"
#include "store/redis/wire/reader.hpp"
#include "store/redis/wire/resp.hpp"

namespace limitree::redis {
namespace {

// ---- ExpectedQueue ----------------------------------------------------------

// The test tells entries apart by their `begin`.
Expected mark(std::uint64_t number) {
  return {nullptr, false, number, 0, nullptr};
}

std::vector<std::uint64_t> marks_of(ExpectedQueue* queue) {
  std::vector<std::uint64_t> marks;
  for (const Expected& one : *queue) marks.push_back(one.begin);
  return marks;
}

// Compares the queue with a std::deque, at many lengths.
TEST(ExpectedQueue, IsAQueue) {
  std::mt19937 random(1);  // NOLINT: the same each time
  ExpectedQueue queue;
  std::deque<std::uint64_t> model;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    // The queue grows for a while, and then shrinks.
    const bool grows = random() % 10 < (i / 3000 % 2 == 0 ? 6 : 4);
    if (grows || model.empty()) {
      queue.push(mark(i));
      model.push_back(i);
    } else {
      ASSERT_EQ(queue.front().begin, model.front());
      queue.pop();
      model.pop_front();
    }
    ASSERT_EQ(queue.empty(), model.empty());
    ASSERT_EQ(queue.end() - queue.begin(),
              static_cast<std::ptrdiff_t>(model.size()));
  }
  EXPECT_EQ(marks_of(&queue),
            std::vector<std::uint64_t>(model.begin(), model.end()));
}

TEST(ExpectedQueue, LosesSomeFromTheMiddle) {
  ExpectedQueue queue;
  for (std::uint64_t i = 0; i < 6; ++i) queue.push(mark(i));
  queue.pop();
  queue.erase(queue.begin() + 1, queue.begin() + 3);
  EXPECT_EQ(marks_of(&queue), (std::vector<std::uint64_t>{1, 4, 5}));
  queue.erase(queue.begin(), queue.end());
  EXPECT_TRUE(queue.empty());
}

// ---- Joint ------------------------------------------------------------------

Outcome answered(std::string_view bytes) {
  Reader reader;
  reader.feed(bytes);
  return answered(reader.next());
}

class JointTest : public testing::Test {
 protected:
  Script script_{"return KEYS"};
  JoiningCommands commands_{script_, 4};
  Joint joint_{commands_.all()};
};

TEST_F(JointTest, IsOneCallWithTheKeysOfAll) {
  EXPECT_EQ(joint_.bytes(),
            resp({"EVALSHA", script_.sha1, "4", "k0", "k1", "k2", "k3"}));
  EXPECT_TRUE(joint_.write_text());
  EXPECT_EQ(joint_.bytes(),
            resp({"EVAL", script_.text, "4", "k0", "k1", "k2", "k3"}));
  EXPECT_FALSE(joint_.write_text());
}

TEST_F(JointTest, GivesEachItsPart) {
  joint_.complete(answered("*4\r\n$1\r\na\r\n-ERR b\r\n$1\r\nc\r\n:4\r\n"));
  EXPECT_EQ(commands_.text(0), "a");
  EXPECT_EQ(commands_.text(1), "ERR b");
  EXPECT_EQ(commands_[1].outcome().failure, failure_of("ERR b"));
  EXPECT_EQ(commands_.text(2), "c");
  EXPECT_EQ(commands_.text(3), "4");
}

TEST_F(JointTest, GivesAnErrorToAll) {
  joint_.complete(answered("-LOADING Redis is loading\r\n"));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(commands_.text(i), "LOADING Redis is loading");
    EXPECT_EQ(commands_[i].outcome().failure, Failure::kLoading);
  }
}

TEST_F(JointTest, TellsAllThatItIsLost) {
  joint_.complete(
      Outcome::lost(Outcome::Fate::kUnknown, Failure::kLost, "reset"));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(commands_[i].outcome().fate, Outcome::Fate::kUnknown);
    EXPECT_EQ(commands_[i].outcome().failure, Failure::kLost);
    EXPECT_EQ(commands_[i].outcome().detail, "reset");
  }
}

// Such a reply does not tell which commands were charged.
TEST_F(JointTest, RefusesAReplyOfOtherParts) {
  joint_.complete(answered("*3\r\n:1\r\n:2\r\n:3\r\n"));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(commands_[i].completions(), 1);
    EXPECT_EQ(commands_[i].outcome().fate, Outcome::Fate::kUnknown);
    EXPECT_EQ(commands_[i].outcome().failure, Failure::kNoDecision);
  }
}

TEST_F(JointTest, RefusesAReplyThatIsNone) {
  joint_.complete(answered("+OK\r\n"));
  EXPECT_EQ(commands_[0].outcome().failure, Failure::kNoDecision);
  EXPECT_EQ(commands_[3].outcome().failure, Failure::kNoDecision);
}

TEST_F(JointTest, ForgetsOne) {
  EXPECT_TRUE(joint_.has(&commands_[2]));
  joint_.abandon(&commands_[2]);
  EXPECT_FALSE(joint_.has(&commands_[2]));
  EXPECT_EQ(joint_.size(), 4u);
  joint_.complete(answered("*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n"));
  EXPECT_EQ(commands_.text(1), "2");
  EXPECT_EQ(commands_[2].completions(), 0);
  EXPECT_EQ(commands_.text(3), "4");
}

TEST_F(JointTest, IsSentAgainForThoseWhoStillWait) {
  joint_.abandon(&commands_[0]);
  joint_.abandon(&commands_[2]);
  EXPECT_TRUE(joint_.write_text());
  EXPECT_EQ(joint_.bytes(), resp({"EVAL", script_.text, "2", "k1", "k3"}));
  EXPECT_EQ(joint_.size(), 2u);
  joint_.complete(answered("*2\r\n:2\r\n:4\r\n"));
  EXPECT_EQ(commands_.text(1), "2");
  EXPECT_EQ(commands_.text(3), "4");
}

TEST_F(JointTest, IsNotSentAgainForNobody) {
  for (std::size_t i = 0; i < 4; ++i) joint_.abandon(&commands_[i]);
  EXPECT_FALSE(joint_.write_text());
  EXPECT_EQ(joint_.size(), 0u);
}

// ---- which commands are joined ----------------------------------------------

// Removes what is to be sent next, and returns it.
Gathering::Next take(Gathering* gathering) {
  Gathering::Next next = gathering->next();
  gathering->remove_front(next.count);
  return next;
}

TEST(Gathering, JoinsAsManyAsIsGood) {
  const Script script("return KEYS");
  JoiningCommands commands(script, 2 * kMostJoined + kFewestJoined - 1);
  Gathering gathering;
  EXPECT_TRUE(gathering.empty());
  for (Command* const one : commands.all()) gathering.push(one);
  std::size_t bytes = 0;
  for (const Command* const one : commands.all()) bytes += one->bytes().size();
  EXPECT_EQ(gathering.bytes(), bytes);
  for (int i = 0; i < 2; ++i) {
    const Gathering::Next next = take(&gathering);
    ASSERT_NE(next.joint, nullptr);
    EXPECT_EQ(next.joint.get(), next.command);
    EXPECT_EQ(next.joint->size(), kMostJoined);
  }
  for (std::size_t i = 2 * kMostJoined; i < commands.size(); ++i) {
    const Gathering::Next next = take(&gathering);
    EXPECT_EQ(next.joint, nullptr);
    EXPECT_EQ(next.command, &commands[i]);
  }
  EXPECT_TRUE(gathering.empty());
}

TEST(Gathering, JoinsThoseOfOneScript) {
  const Script script("return KEYS");
  const Script other("return 1");
  JoiningCommands ours(script, kFewestJoined);
  JoiningCommands theirs(other, kFewestJoined);
  Gathering gathering;
  for (std::size_t i = 0; i < kFewestJoined; ++i) {
    gathering.push(&ours[i]);
    gathering.push(&theirs[i]);
  }
  for (int i = 0; i < 2; ++i) {
    const Gathering::Next next = take(&gathering);
    ASSERT_NE(next.joint, nullptr);
    JoiningCommands& whose = next.joint->has(&ours[0]) ? ours : theirs;
    EXPECT_EQ(next.joint->commands(), whose.all());
  }
  EXPECT_TRUE(gathering.empty());
}

TEST(Gathering, ForgetsAndGivesBack) {
  const Script script("return KEYS");
  JoiningCommands commands(script, 6);
  Gathering gathering;
  for (Command* const one : commands.all()) gathering.push(one);
  EXPECT_TRUE(gathering.forget(&commands[1]));
  EXPECT_FALSE(gathering.forget(&commands[1]));
  for (const std::size_t i : {0u, 2u, 3u, 4u, 5u}) {
    EXPECT_EQ(gathering.pop(), &commands[i]);
  }
  EXPECT_TRUE(gathering.empty());
  gathering.push(&commands[1]);
  EXPECT_TRUE(gathering.forget(&commands[1]));
  EXPECT_TRUE(gathering.empty());
}

// ---- which command a reply belongs to ---------------------------------------

class Numbered final : public Command {
 public:
  explicit Numbered(int of) : number(of), bytes_(resp(std::to_string(of))) {}

  std::string_view bytes() const override { return bytes_; }
  void complete(Outcome outcome) noexcept override {
    answer = redis_reply(outcome).integer;
  }

  const int number;
  long long answer = -1;

 private:
  static std::string resp(const std::string& word) {
    std::string bytes;
    append_command({word}, &bytes);
    return bytes;
  }

  const std::string bytes_;
};

// Compares a pipeline with a list, while commands come and go in any order.
TEST(Pipeline, GivesEachItsReplyWhateverIsAbandoned) {
  struct Due {
    Numbered* command;
    bool asking;
    bool abandoned;
  };
  std::mt19937 random(1);  // NOLINT: the same each time
  std::deque<Numbered> commands;
  std::deque<Due> model;
  Pipeline pipeline;
  int asked = 0;
  for (int i = 0; i < 30'000; ++i) {
    const auto choice = random() % 10;
    if (choice < 4) {
      const bool asking = random() % 4 == 0;
      Numbered& command = commands.emplace_back(i);
      pipeline.push(&command, asking);
      model.push_back({&command, asking, false});
    } else if (choice < 6) {
      Outbox& box = *pipeline.outbox();
      box.remove_front(random() % (box.size() + 1));
    } else if (choice < 7 && !model.empty()) {
      const auto one =
          model.begin() + static_cast<std::ptrdiff_t>(random() % model.size());
      if (one->abandoned) continue;
      one->abandoned = true;
      if (!pipeline.abandon(one->command)) model.erase(one);
    } else if (pipeline.expects_reply()) {
      ASSERT_FALSE(model.empty());
      Due& due = model.front();
      Reader reader;
      const bool answers_asking = std::exchange(due.asking, false);
      asked += answers_asking ? 1 : 0;
      reader.feed(answers_asking
                      ? "+OK\r\n"
                      : ":" + std::to_string(due.command->number) + "\r\n");
      pipeline.answer(reader.next());
      if (answers_asking) continue;
      ASSERT_EQ(due.command->answer, due.abandoned ? -1 : due.command->number);
      model.pop_front();
    }
  }
  EXPECT_GT(asked, 100);
  EXPECT_EQ(pipeline.in_flight() > 0, !model.empty());
}

// A server that hangs keeps them all waiting, and each has a deadline.
TEST(Pipeline, AbandonsManyAtLittleCost) {
  constexpr int kCount = 100'000;
  std::deque<Numbered> commands;
  Pipeline pipeline;
  for (int i = 0; i < kCount; ++i) {
    pipeline.push(&commands.emplace_back(i), false);
  }
  pipeline.outbox()->remove_front(pipeline.outbox()->size());
  const std::clock_t began = std::clock();
  for (int i = kCount; i-- > 0;) {
    ASSERT_TRUE(pipeline.abandon(&commands[static_cast<std::size_t>(i)]));
  }
  EXPECT_LT(std::clock() - began, CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace limitree::redis
