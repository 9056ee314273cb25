// A minimal Redis store, to test the scripts alone: one blocking connection, no
// deadline, no retry.  It uses each layout of the scripts in turn.

#pragma once

#include <hiredis/hiredis.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/judge.hpp"
#include "core/store/redis/redis_server.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/script/call.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/store.hpp"

namespace limitree::redis {

class ScriptStore : public Store {
 public:
  using Clock = std::function<Now()>;

  // Uses the server's clock unless one is given.
  explicit ScriptStore(
      const RedisServer& server, Clock clock = [] { return std::nullopt; })
      : context_(redisConnectUnix(server.socket().c_str())),
        clock_(std::move(clock)) {}

  Status decide(Plan* plan) override {
    const std::vector<std::uint32_t> levels = all_levels(*plan);
    Status encoded =
        call_.encode(*plan, levels, kPrefix, clock_(), next_scripts(*plan));
    if (!encoded.ok()) return encoded;
    Reply reply = send(call_.evalsha());
    if (is_error(*reply, "NOSCRIPT")) reply = send(call_.eval());
    if (reply->type == REDIS_REPLY_ERROR) return failure(*reply);
    Usages usages;
    usages.resize(levels.size());
    Status read = Call::read_reply(*reply, plan, levels, &charged_, &usages);
    if (read.ok()) {
      judge(plan->operation, plan->levels.data(), plan->levels.size(),
            plan->denied);
    }
    return read;
  }

  Status reset(const Plan& plan) override {
    forgotten_ = 0;
    for (const Level& level : plan.levels) {
      const Reply reply = send(reset_command(address_of(plan, level, kPrefix),
                                             level.limit->holds()));
      if (reply->type != REDIS_REPLY_INTEGER) return failure(*reply);
      forgotten_ += reply->integer;
    }
    return {};
  }

  // Counts buckets, including those that are full again but were not written
  // since.
  StoreStats stats() override {
    StoreStats stats;
    const Reply keys = send_words({"KEYS", "*"});
    for (std::size_t i = 0; i < keys->elements; ++i) {
      const Reply fields = send_words({"HKEYS", keys->element[i]->str});
      for (std::size_t j = 0; j < fields->elements; ++j) {
        stats.buckets += std::string_view(fields->element[j]->str) != ":";
      }
    }
    return stats;
  }

  // Whether the script charged anything in the last decide().
  bool charged() const { return charged_; }
  // How many buckets the last reset() has removed.
  std::int64_t forgotten() const { return forgotten_; }

  // Sends any command over the same connection.
  Reply send(std::string_view command) {
    redisAppendFormattedCommand(context_.get(), command.data(), command.size());
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) {
      throw std::runtime_error(context_->errstr);
    }
    return Reply(static_cast<redisReply*>(reply));
  }
  Reply send_words(std::initializer_list<std::string_view> words) {
    std::string command;
    append_command(words, &command);
    return send(command);
  }

  static std::vector<std::uint32_t> all_levels(const Plan& plan) {
    std::vector<std::uint32_t> levels(plan.levels.size());
    std::iota(levels.begin(), levels.end(), 0u);
    return levels;
  }

  static constexpr std::string_view kPrefix = "limitree:";

 private:
  struct Disconnect {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  // Takes the layouts in turn, of which the last grants no lease.  The tables
  // have room for a limited number of scripts, so they are replaced now and
  // then.
  Scripts* next_scripts(const Plan& plan) {
    if (decided_++ % 300 == 0) {
      scripts_[0] = std::make_unique<Scripts>();
      scripts_[1] = std::make_unique<Scripts>(0);
      scripts_[2] = std::make_unique<Scripts>(0, 0);
    }
    return scripts_[decided_ % (plan.lease.most > 0 ? 2 : 3)].get();
  }

  static bool is_error(const redisReply& reply, std::string_view first_word) {
    return reply.type == REDIS_REPLY_ERROR &&
           std::string_view(reply.str, reply.len).starts_with(first_word);
  }
  static Status failure(const redisReply& reply) {
    return Status(Code::kStoreUnavailable, {reply.str, reply.len});
  }

  const std::unique_ptr<redisContext, Disconnect> context_;
  const Clock clock_;
  std::unique_ptr<Scripts> scripts_[3];
  std::size_t decided_ = 0;
  Call call_;
  bool charged_ = false;
  std::int64_t forgotten_ = 0;
};

}  // namespace limitree::redis
