#include "store/redis/wire/greeting.hpp"

#include <string_view>

#include "io/failure.hpp"
#include "io/secret_file.hpp"
#include "store/redis/common/error_reply.hpp"
#include "store/redis/wire/resp.hpp"

namespace limitree::redis {

Login with_password(const Login& login) {
  Login read = login;
  if (login.password_file.empty()) return read;
  read.password = read_secret(login.password_file);
  const std::size_t colon = read.password.find(':');
  if (login.user.empty() && colon != std::string::npos) {
    read.user = read.password.substr(0, colon);
    read.password.erase(0, colon + 1);
  }
  if (read.password.empty()) {
    throw limitree::Failure(login.password_file + ": has no password");
  }
  return read;
}

Greeting::Greeting(const Login& login, std::string* out) {
  if (!login.password.empty()) {
    add(Step::kAuth);
    if (login.user.empty()) {
      append_command({"AUTH", login.password}, out);
    } else {
      append_command({"AUTH", login.user, login.password}, out);
    }
  }
  if (login.db != 0) {
    add(Step::kSelect);
    append_command({"SELECT", std::to_string(login.db)}, out);
  }
  if (!login.client_name.empty()) {
    add(Step::kSetName);
    append_command({"CLIENT", "SETNAME", login.client_name}, out);
  }
}

Failure Greeting::answer(const redisReply& reply, std::string* detail) {
  const Step step = steps_[next_++];
  if (reply.type == REDIS_REPLY_STATUS) return Failure::kNone;
  if (reply.type != REDIS_REPLY_ERROR) {
    *detail = "not an answer to the login";
    return Failure::kProtocol;
  }
  const std::string_view text(reply.str, reply.len);
  const Failure failure = failure_of(text);
  switch (step) {
    case Step::kAuth:
      *detail = "AUTH was refused";
      // A server that does not know AUTH repeats what it was told.
      if (failure == Failure::kOther) return Failure::kWrongPass;
      break;
    case Step::kSelect:
      *detail = "SELECT was refused";
      break;
    case Step::kSetName:
      // The name is for operators only; some servers do not support names, and
      // some users may not set them.
      if (!is_outage(failure)) return Failure::kNone;
      *detail = "the connection was refused";
      break;
  }
  *detail += ": ";
  *detail += text;
  return failure;
}

}  // namespace limitree::redis
