// The protocol of Redis on one connection.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/redis/common/settings.hpp"
#include "store/redis/wire/greeting.hpp"
#include "store/redis/wire/pipeline.hpp"
#include "store/redis/wire/reader.hpp"
#include "store/remote/wire/dialog.hpp"

namespace limitree::redis {

class RedisDialog final : public Dialog {
 public:
  // `login` must outlive it.
  explicit RedisDialog(const Login& login) : login_(login) {}

  bool greet(std::string* out) override;
  void push(Command* command, bool asking) override {
    pipeline_.push(command, asking);
  }
  bool abandon(const Command* command) override {
    return pipeline_.abandon(command);
  }
  void join() override { pipeline_.join(); }
  bool has_gathered() const override { return pipeline_.has_gathered(); }
  Outbox* outbox() override { return pipeline_.outbox(); }
  bool has_sent() override { return pipeline_.has_sent(); }
  void fail(Failure failure, std::string_view detail) noexcept override {
    pipeline_.fail(failure, detail);
  }
  std::size_t in_flight() const override { return pipeline_.in_flight(); }
  std::size_t unsent() const override { return pipeline_.unsent(); }
  void feed(std::string_view bytes) override { reader_.feed(bytes); }
  Event next() override;

 private:
  Event greeted(const redisReply& reply);
  Event refuse(const redisReply& reply);

  const Login& login_;
  Reader reader_;
  std::optional<Greeting> greeting_;
  Pipeline pipeline_;
};

class RedisProtocol final : public Protocol {
 public:
  // `login` must outlive it.
  explicit RedisProtocol(const Login& login) : login_(login) {}

  std::unique_ptr<Dialog> new_dialog() const override {
    return std::make_unique<RedisDialog>(login_);
  }
  const Login& login() const { return login_; }

 private:
  const Login& login_;
};

}  // namespace limitree::redis
