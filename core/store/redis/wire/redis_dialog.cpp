#include "store/redis/wire/redis_dialog.hpp"

#include <utility>

#include "io/failure.hpp"
#include "store/redis/common/error_reply.hpp"

namespace limitree::redis {

bool RedisDialog::greet(std::string* out) {
  try {
    greeting_.emplace(with_password(login_), out);
  } catch (const limitree::Failure& failure) {
    throw limitree::Failure(std::string("password_file: ") + failure.what());
  }
  return greeting_->answered();
}

Dialog::Event RedisDialog::next() {
  Reply reply = reader_.next();
  if (reply == nullptr) {
    if (!reader_.failed()) return Event::kNothing;
    return fail_with(Failure::kProtocol, reader_.detail());
  }
  if (greeting_ && !greeting_->answered()) return greeted(*reply);
  if (!pipeline_.expects_reply()) return refuse(*reply);
  pipeline_.answer(std::move(reply));
  return Event::kAnswered;
}

Dialog::Event RedisDialog::greeted(const redisReply& reply) {
  std::string detail;
  const Failure failure = greeting_->answer(reply, &detail);
  if (failure != Failure::kNone) return fail_with(failure, std::move(detail));
  return greeting_->answered() ? Event::kReady : Event::kStep;
}

// A reply without a command.  A server may send one to say why it refuses us;
// anything else means that replies and commands no longer match.
Dialog::Event RedisDialog::refuse(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_ERROR) {
    const std::string_view text(reply.str, reply.len);
    if (is_outage(failure_of(text))) {
      return fail_with(failure_of(text), std::string(text));
    }
  }
  return fail_with(Failure::kProtocol, "a reply that nobody asked for");
}

}  // namespace limitree::redis
