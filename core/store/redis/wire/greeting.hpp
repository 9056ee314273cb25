// How a connection introduces itself: AUTH, SELECT and CLIENT SETNAME, sent
// together before the first command of a caller.

#pragma once

#include <hiredis/hiredis.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "store/redis/common/settings.hpp"
#include "store/remote/common/failure.hpp"

namespace limitree::redis {

// `login` with the password that its file has now, which may be another one
// than a moment ago: those of clouds and of Vault live for minutes.  Without a
// user in `login`, what stands before the first colon is the user.  Throws
// Failure, which names the file.
Login with_password(const Login& login);

class Greeting {
 public:
  // Appends the commands to *out.
  Greeting(const Login& login, std::string* out);

  bool answered() const { return next_ == count_; }

  // Takes the reply to the next of them.  Returns why the server must not be
  // used, or kNone if nothing is wrong so far.  *detail, for people, never has
  // a password in it.
  // REQUIRES: !answered().
  Failure answer(const redisReply& reply, std::string* detail);

 private:
  enum class Step : std::uint8_t { kAuth, kSelect, kSetName };

  void add(Step step) { steps_[count_++] = step; }

  std::array<Step, 3> steps_{};
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

}  // namespace limitree::redis
