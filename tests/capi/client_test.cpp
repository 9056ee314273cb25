// A client of the program in place of connections: limitree_config_set_client.

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "capi/capi_redis.hpp"
#include "io/descriptor_limit.hpp"

namespace client_test {
namespace {

using namespace limitree::capi_test;

// A command, kept by a client.
struct Sent {
  std::uint64_t token;
  std::vector<std::string> words;
  std::string bytes;
  std::size_t first_key;
  std::int64_t timeout_ns;
};

// A client that keeps the commands until the test decides about them, or hands
// them to a function at once.
class ClientOfTest {
 public:
  static void send(const limitree_command* command, void* self) {
    Sent sent{command->token,
              {},
              std::string(command->bytes.data, command->bytes.size),
              command->first_key,
              command->timeout_ns};
    for (std::size_t i = 0; i < command->word_count; ++i) {
      sent.words.emplace_back(command->words[i].data, command->words[i].size);
    }
    auto& client = *static_cast<ClientOfTest*>(self);
    if (client.at_once) return client.at_once(sent);
    const std::lock_guard lock(client.mutex_);
    client.sent_.push_back(std::move(sent));
  }

  std::vector<Sent> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sent_, {});
  }

  std::function<void(const Sent&)> at_once;

 private:
  std::mutex mutex_;
  std::vector<Sent> sent_;
};

class CapiClient : public CapiRedis {
 protected:
  void make(const Options& options = {}, std::int32_t flags = 0) {
    const Config config(limitree_config_new());
    limitree_error* error = nullptr;
    ASSERT_EQ(limitree_config_set_limits(config.get(), str(kLimits),
                                         str("limits.yaml"), &error),
              0);
    ASSERT_EQ(limitree_config_set_client(config.get(), ClientOfTest::send,
                                         flags, &client_, nullptr, &error),
              0);
    ASSERT_EQ(limitree_config_set(config.get(), "timeout", str("5s"), &error),
              0);
    for (const auto& [name, value] : options) {
      ASSERT_EQ(
          limitree_config_set(config.get(), name.c_str(), str(value), &error),
          0);
    }
    ASSERT_EQ(limitree_config_set_completion(config.get(), Inbox::put, &inbox_,
                                             nullptr, &error),
              0);
    limitree_limiter* limiter = nullptr;
    ASSERT_EQ(limitree_limiter_new(config.get(), &limiter, &error), 0);
    limiter_.reset(limiter);
  }

  // Asks the server of the suite, as hiredis does.
  void ask_server(const Sent& sent) {
    const RedisServer::Reply reply = server().command(sent.words);
    answer(sent.token, *reply);
  }

  void answer(std::uint64_t token, const redisReply& reply) {
    const limitree_str text = {reply.str, reply.len};
    switch (reply.type) {
      case REDIS_REPLY_STRING:
        limitree_client_reply(limiter_.get(), token, LIMITREE_REPLY_TEXT, text);
        break;
      case REDIS_REPLY_ERROR:
        limitree_client_reply(limiter_.get(), token, LIMITREE_REPLY_ERROR,
                              text);
        break;
      default:
        limitree_client_reply(limiter_.get(), token, LIMITREE_REPLY_OTHER, {});
        break;
    }
  }

  void answer_all(std::int32_t reply, const std::string& text) {
    for (const Sent& sent : client_.take()) {
      EXPECT_EQ(
          limitree_client_reply(limiter_.get(), sent.token, reply, str(text)),
          1);
    }
  }

  // A call that blocks; its reason is in reason_.
  limitree_status authorize(const std::string& user) {
    const std::string root = "user";
    const std::string action = "trade";
    const limitree_str path[] = {str(root), str(user), str(action)};
    limitree_error* error = nullptr;
    const limitree_status status =
        limitree_authorize(limiter_.get(), path, 3, 1, &decision_, &error);
    reason_ = error == nullptr ? "" : limitree_error_reason(error);
    message_ = error == nullptr ? "" : limitree_error_message(error);
    limitree_error_free(error);
    return status;
  }

  // Starts a call and runs the loop until it has sent something or is done.
  void begin(const std::string& user, std::uintptr_t id) {
    ASSERT_EQ(start(limiter_.get(), user, id, &decision_), LIMITREE_PENDING);
    limitree_loop_run(limiter_.get());
  }

  void finish(std::uintptr_t id) {
    while (inbox_.calls.count(id) == 0) {
      for (const Sent& sent : client_.take()) ask_server(sent);
      limitree_loop_run(limiter_.get());
    }
  }

  ClientOfTest client_;
  Inbox inbox_;
  Limiter limiter_;
  limitree_decision decision_{};
  std::string reason_;
  std::string message_;
};

TEST_F(CapiClient, BlocksUntilTheClientAnswers) {
  make();
  client_.at_once = [this](const Sent& sent) { ask_server(sent); };
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(authorize("alex"), LIMITREE_OK) << message_;
    EXPECT_EQ(decision_.limited, i < 6 ? 0 : 1) << i;
  }
  EXPECT_EQ(stats_of(limiter_)["connects"], 0);
  std::int64_t round_trip_ns = 0;
  EXPECT_EQ(limitree_ping(limiter_.get(), &round_trip_ns, nullptr), 0);
  EXPECT_GT(round_trip_ns, 0);
  // The buckets are those of a limiter with connections.
  Inbox inbox;
  const Limiter other = limiter_on(url(), &inbox);
  const limitree_str path[] = {{"user", 4}, {"alex", 4}, {"trade", 5}};
  ASSERT_EQ(limitree_peek(other.get(), path, 3, 0, &decision_, nullptr), 0);
  EXPECT_EQ(decision_.remaining, 0);
  ASSERT_EQ(limitree_reset(limiter_.get(), path, 3, 1, nullptr), 0);
  ASSERT_EQ(authorize("alex"), LIMITREE_OK);
  EXPECT_EQ(decision_.limited, 0);
}

TEST_F(CapiClient, AnswersOfOtherThreads) {
  make();
  std::vector<std::thread> threads;
  std::mutex mutex;
  client_.at_once = [&](const Sent& sent) {
    const std::lock_guard lock(mutex);
    threads.emplace_back([this, sent] { ask_server(sent); });
  };
  std::atomic<int> allowed = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      const limitree_str path[] = {{"user", 4}, {"mary", 4}, {"trade", 5}};
      for (int k = 0; k < 5; ++k) {
        limitree_decision decision;
        ASSERT_EQ(
            limitree_authorize(limiter_.get(), path, 3, 1, &decision, nullptr),
            0);
        allowed += decision.limited == 0 ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, 6);
}

TEST_F(CapiClient, SaysWhatToSend) {
  make();
  begin("alex", 1);
  const std::vector<Sent> sent = client_.take();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].words[0], "EVALSHA");
  EXPECT_EQ(sent[0].words[2], "1");
  ASSERT_EQ(sent[0].first_key, 3U);
  EXPECT_EQ(sent[0].words[3], "limitree:{user:alex}");
  EXPECT_TRUE(sent[0].bytes.starts_with("*"));
  EXPECT_GT(sent[0].timeout_ns, 0);
  EXPECT_LE(sent[0].timeout_ns, 5'000'000'000);
  for (const Sent& one : sent) ask_server(one);
  limitree_loop_run(limiter_.get());
  finish(1);
  EXPECT_EQ(inbox_.status[1], LIMITREE_OK);
}

TEST_F(CapiClient, ScriptsAreSentAgainAsTexts) {
  make();
  begin("first", 1);
  finish(1);
  server().cli({"SCRIPT", "FLUSH"});
  begin("second", 2);
  std::vector<Sent> sent = client_.take();
  ASSERT_EQ(sent.size(), 1U);
  ask_server(sent[0]);
  limitree_loop_run(limiter_.get());
  sent = client_.take();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].words[0], "EVAL");
  ask_server(sent[0]);
  limitree_loop_run(limiter_.get());
  EXPECT_EQ(inbox_.status[2], LIMITREE_OK);
  EXPECT_EQ(inbox_.calls[2], 1);
}

TEST_F(CapiClient, AClientThatNeverAnswers) {
  make({{"timeout", "1s"}});
  EXPECT_EQ(authorize("alex"), LIMITREE_STORE_TIMEOUT);
  EXPECT_EQ(reason_, "timeout");
  // From now on it is not asked, except now and then.
  const std::size_t before = client_.take().size();
  EXPECT_EQ(before, 1U);
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    refused += authorize("alex") == LIMITREE_STORE_UNAVAILABLE ? 1 : 0;
  }
  EXPECT_GT(refused, 90) << message_;
}

TEST_F(CapiClient, DeadlinesOfALoop) {
  make({{"timeout", "1s"}});
  EXPECT_EQ(limitree_loop_until_run(limiter_.get()), -1);
  ASSERT_EQ(start(limiter_.get(), "alex", 1, &decision_), LIMITREE_PENDING);
  EXPECT_EQ(limitree_loop_until_run(limiter_.get()), 0);
  limitree_loop_run(limiter_.get());
  const std::vector<Sent> sent = client_.take();
  ASSERT_EQ(sent.size(), 1U);
  const std::int64_t wait = limitree_loop_until_run(limiter_.get());
  EXPECT_GE(wait, 0);
  EXPECT_LE(wait, 1'000'000'000);
  run(limiter_.get(), inbox_, 1);  // by its descriptor
  EXPECT_EQ(inbox_.status[1], LIMITREE_STORE_TIMEOUT);
  EXPECT_EQ(limitree_loop_until_run(limiter_.get()), -1);
  // The answer comes after all: the server is there.
  ASSERT_EQ(start(limiter_.get(), "alex", 2, &decision_), LIMITREE_PENDING);
  limitree_loop_run(limiter_.get());
  EXPECT_EQ(inbox_.status[2], LIMITREE_STORE_UNAVAILABLE);
  EXPECT_EQ(inbox_.reason[2], "backoff");
  EXPECT_EQ(limitree_client_reply(limiter_.get(), sent[0].token,
                                  LIMITREE_REPLY_TEXT, str("late")),
            0);
  begin("alex", 3);
  finish(3);
  EXPECT_EQ(inbox_.status[3], LIMITREE_OK);
}

TEST_F(CapiClient, FailuresOfTheClient) {
  make();
  begin("alex", 1);
  answer_all(LIMITREE_REPLY_LOST, "the tunnel is down");
  limitree_loop_run(limiter_.get());
  EXPECT_EQ(inbox_.status[1], LIMITREE_STORE_TIMEOUT) << "it may be charged";
  EXPECT_EQ(inbox_.reason[1], "lost");
  begin("alex", 2);
  answer_all(LIMITREE_REPLY_UNSENT, "closed");
  limitree_loop_run(limiter_.get());
  EXPECT_EQ(inbox_.status[2], LIMITREE_STORE_UNAVAILABLE);
  EXPECT_EQ(inbox_.reason[2], "lost");
  begin("alex", 3);
  answer_all(LIMITREE_REPLY_UNSENT, "closed");
  limitree_loop_run(limiter_.get());
  // The third in a row opens the circuit.
  ASSERT_EQ(start(limiter_.get(), "alex", 4, &decision_), LIMITREE_PENDING);
  limitree_loop_run(limiter_.get());
  EXPECT_EQ(inbox_.reason[4], "backoff");
  EXPECT_TRUE(client_.take().empty());
}

TEST_F(CapiClient, Garbage) {
  struct Case {
    std::int32_t reply;
    std::string text;
    limitree_status status;
    std::string reason;
  };
  const Case cases[] = {
      {LIMITREE_REPLY_TEXT, "", LIMITREE_STORE_PROTOCOL, "nodecision"},
      {LIMITREE_REPLY_TEXT, "+ 1 2 3 4 5 6", LIMITREE_STORE_PROTOCOL,
       "nodecision"},
      {LIMITREE_REPLY_TEXT, std::string(2 << 20, 'x'), LIMITREE_STORE_PROTOCOL,
       "nodecision"},
      {LIMITREE_REPLY_OTHER, "", LIMITREE_STORE_PROTOCOL, "nodecision"},
      {LIMITREE_REPLY_ERROR, "", LIMITREE_STORE_UNAVAILABLE, "other"},
      {LIMITREE_REPLY_ERROR, "OOM\r\n$3\r\nfoo", LIMITREE_STORE_UNAVAILABLE,
       "oom"},
      {LIMITREE_REPLY_ERROR, "OOM no memory", LIMITREE_STORE_UNAVAILABLE,
       "oom"},
      {LIMITREE_REPLY_ERROR, "OOM " + std::string(2 << 20, 'x'),
       LIMITREE_STORE_UNAVAILABLE, "oom"},
      {LIMITREE_REPLY_LOST, std::string(2 << 20, 'x'), LIMITREE_STORE_TIMEOUT,
       "lost"},
      {LIMITREE_REPLY_UNSENT, "no\nroute\0" + std::string(5000, '\n'),
       LIMITREE_STORE_UNAVAILABLE, "lost"},
      {LIMITREE_REPLY_ERROR, "MOVED 1 127.0.0.1:7", LIMITREE_STORE_UNAVAILABLE,
       "moved"},
      {LIMITREE_REPLY_ERROR, "READONLY", LIMITREE_STORE_UNAVAILABLE,
       "readonly"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text.substr(0, 20));
    make();
    int sent = 0;
    client_.at_once = [&](const Sent& command) {
      ++sent;
      limitree_client_reply(limiter_.get(), command.token, one.reply,
                            str(one.text));
    };
    EXPECT_EQ(authorize("alex"), one.status) << message_;
    EXPECT_EQ(reason_, one.reason);
    EXPECT_EQ(sent, 1);
    EXPECT_LT(message_.size(), 20'000U);
    EXPECT_EQ(message_.find('\n'), std::string::npos);
  }
  make();
  client_.at_once = nullptr;
  begin("alex", 1);
  const std::uint64_t token = client_.take()[0].token;
  EXPECT_EQ(limitree_client_reply(limiter_.get(), token, 5, {}), 0);
  EXPECT_EQ(limitree_client_reply(limiter_.get(), token, -1, {}), 0);
  EXPECT_EQ(limitree_client_reply(limiter_.get(), token, 0, {nullptr, 1}), 0);
  EXPECT_EQ(limitree_client_reply(nullptr, token, 0, {}), 0);
  EXPECT_EQ(limitree_client_reply(limiter_.get(), token + 1, 0, {}), 0);
}

TEST_F(CapiClient, PolicyOfOutages) {
  make({{"on_store_error", "local"}});
  client_.at_once = [this](const Sent& sent) {
    limitree_client_reply(limiter_.get(), sent.token, LIMITREE_REPLY_LOST, {});
  };
  int allowed = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(authorize("alex"), LIMITREE_OK);
    EXPECT_EQ(decision_.source, LIMITREE_SOURCE_LOCAL);
    allowed += decision_.limited == 0 ? 1 : 0;
  }
  EXPECT_EQ(allowed, 6);
}

// Each of them makes a poller that has none.
TEST_F(CapiClient, NoDescriptorIsLeft) {
  make();
  begin("alex", 1);
  std::atomic<bool> runs = false;
  std::atomic<bool> begun = false;
  std::thread host([&] {  // before: see DescriptorLimit
    runs = true;
    while (!begun) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) limitree_loop_run(limiter_.get());
  });
  while (!runs) std::this_thread::yield();
  {
    const limitree::DescriptorLimit none(0);
    begun = true;
    EXPECT_EQ(limitree_loop_fd(limiter_.get()), -1);
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(limitree_loop_fd(limiter_.get()), -1);
    }
    host.join();
  }
  EXPECT_GE(limitree_loop_fd(limiter_.get()), 0);
  finish(1);
  EXPECT_EQ(inbox_.status[1], LIMITREE_OK);
}

// Whatever is answered twice, late or never, each call ends once, and nothing
// is kept.
TEST_F(CapiClient, AnswersInAnyOrder) {
  make({{"timeout", "1s"}});
  begin("warm", 0);
  finish(0);
  std::vector<Sent> sent;
  std::size_t answered = 0;
  constexpr int kRounds = 20;
  constexpr std::uintptr_t kEach = 50;
  for (std::uintptr_t id = 1; id <= kRounds * kEach; ++id) {
    ASSERT_EQ(
        start(limiter_.get(), "user" + std::to_string(id), id, &decision_),
        LIMITREE_PENDING);
    if (id % kEach != 0) continue;
    limitree_loop_run(limiter_.get());
    for (Sent& one : client_.take()) sent.push_back(std::move(one));
    // From two threads: some are answered by both.
    const auto answer_from = [&](std::size_t first) {
      for (std::size_t i = first; i < sent.size(); i += 2) {
        limitree_client_reply(limiter_.get(), sent[i].token,
                              LIMITREE_REPLY_ERROR, str("ERR no"));
        limitree_client_reply(limiter_.get(), sent[sent.size() - 1 - i].token,
                              LIMITREE_REPLY_ERROR, str("OTHER"));
      }
    };
    std::thread other(answer_from, std::size_t{0});
    answer_from(1);
    other.join();
    answered += sent.size();
    sent.clear();
    limitree_loop_run(limiter_.get());
  }
  EXPECT_GT(answered, kEach) << "they were not tried";
  for (std::uintptr_t id = 1; id <= kRounds * kEach; ++id) {
    EXPECT_EQ(inbox_.calls[id], 1) << id;
  }
  EXPECT_EQ(limitree_loop_until_run(limiter_.get()), -1);
}

TEST_F(CapiClient, FreeingCancels) {
  make();
  begin("alex", 1);
  ASSERT_EQ(start(limiter_.get(), "alex", 2, &decision_), LIMITREE_PENDING);
  limiter_.reset();
  EXPECT_EQ(inbox_.status[1], LIMITREE_CANCELLED);
  EXPECT_EQ(inbox_.status[2], LIMITREE_CANCELLED);
}

TEST_F(CapiClient, AChildForgetsTheCallsOfItsParent) {
  make();
  begin("alex", 1);
  const std::uint64_t token = client_.take()[0].token;
  const pid_t child = fork();
  if (child == 0) {
    const bool is_forgotten =
        limitree_client_reply(limiter_.get(), token, LIMITREE_REPLY_TEXT,
                              str("x")) == 0;
    client_.at_once = [this](const Sent& sent) { ask_server(sent); };
    const bool is_decided = authorize("alex") == LIMITREE_OK;
    _exit(is_forgotten && is_decided && inbox_.calls.empty() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(
      limitree_client_reply(limiter_.get(), token, LIMITREE_REPLY_LOST, {}), 1);
  finish(1);
}

TEST_F(CapiClient, OptionsThatContradictIt) {
  const Config config(limitree_config_new());
  const auto message = [&] {
    limitree_error* error = nullptr;
    EXPECT_EQ(limitree_config_check(config.get(), &error),
              LIMITREE_INVALID_CONFIG);
    const std::unique_ptr<limitree_error, Free> owner(error);
    return std::string(limitree_error_message(error));
  };
  const auto set = [&](const char* name, const std::string& value) {
    EXPECT_EQ(limitree_config_set(config.get(), name, str(value), nullptr), 0);
  };
  const auto set_client = [&](std::int32_t flags) {
    return limitree_config_set_client(config.get(), ClientOfTest::send, flags,
                                      &client_, nullptr, nullptr);
  };
  EXPECT_EQ(set_client(2), LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(set_client(LIMITREE_CLIENT_CLUSTER), 0);
  EXPECT_EQ(limitree_config_check(config.get(), nullptr), 0);
  set("per_second_store", "redis://localhost");
  EXPECT_EQ(message().rfind("per_second_store: ", 0), 0U) << message();
  set("per_second_store", "");
  set("store", "redis://localhost");
  EXPECT_EQ(message(), "store: needs no client of the program beside it");
}

}  // namespace
}  // namespace client_test
