// A command on its way to a server, and what became of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/sha.hpp"
#include "store/remote/common/failure.hpp"

namespace limitree::remote {

// A reply, as the protocol's parser has made it; null: there is none.
struct FreeReply {
  void (*free)(void*) = nullptr;
  void operator()(void* reply) const { free(reply); }
};
using Reply = std::unique_ptr<void, FreeReply>;

// What became of a command.  It may be sent again only if it was certainly not
// sent, or was answered with an error instead of being carried out.  A script
// that answers with an error may have been carried out in part.
struct Outcome {
  enum class Fate : std::uint8_t {
    kAnswered,  // `reply` is set; it may be an error reply
    kNotSent,   // the server has not seen it; `failure` says why
    kUnknown,   // sent, but no answer came: it may have been carried out
  };
  Fate fate = Fate::kNotSent;
  Failure failure = Failure::kNone;  // of an error reply, or of the connection
  std::string detail;                // for people: "connection refused"
  Reply reply;

  static Outcome lost(Fate fate, Failure failure, std::string detail);
  // The same without words if there is no memory for them.
  static Outcome lost_anyway(Fate fate, Failure failure,
                             std::string_view detail) noexcept;

  // Of a command whose deadline passed: it was sent, or the connection was not
  // ready because it still waits for `waits_for`.
  static Outcome timed_out(bool sent, std::string_view waits_for = "");
  // Of one that could have been sent, if its caller had run in time.
  static Outcome came_late();
};

// A script as a server knows it: by its text, or by the text's SHA-1.
struct Script {
  explicit Script(std::string script)
      : text(std::move(script)), sha1(sha1_hex(text)) {}

  std::string text;
  std::string sha1;  // in hexadecimal

  // Decides several such requests in one call, one after the other and at one
  // time.  Its keys are those of the first request, those of the second and so
  // on, its reply an array of what this one would have replied to each, errors
  // included.  Null if there is none.
  std::unique_ptr<const Script> several;
};

// What is needed to make a call together with others of the same script.
struct Joinable {
  const Script* script = nullptr;  // for several; null: it cannot be
  std::string_view keys;           // the words of its keys
  std::size_t key_count = 0;
};

// One command in the queue of a Connection.
class Command {
 public:
  virtual ~Command() = default;

  // As the server reads it; borrowed, unchanged until complete() is called.
  virtual std::string_view bytes() const = 0;

  // The same for a call of several; as long as bytes().
  virtual Joinable joinable() const { return {}; }

  // How many replies answer it, for a protocol that does not say.
  virtual std::size_t replies() const { return 1; }

  // Called exactly once, from within a member function of the Connection it
  // was pushed to, which it must not call back.  Must not throw.
  virtual void complete(Outcome outcome) noexcept = 0;

  // For the protocol: the place of its reply, among all that were ever due.
  void set_place(std::uint64_t place) { place_ = place; }
  std::uint64_t place() const { return place_; }

 private:
  std::uint64_t place_ = 0;
};

}  // namespace limitree::remote
