// A piece of work that takes one command after another: a decision, or asking
// where the servers are.  It does no I/O, so that drivers of blocking callers
// and of event loops can both drive it:
//
//   step = task->start();
//   while (step.kind != kDone):
//     kSend:   step = task->answered(outcome of sending task->bytes()
//                                    to step.target)
//     kPause:  step = task->resumed(), after step.pause; the end if it is
//     kPause
//              again and there is no time
//
// The deadline is the driver's business; a deadline that passes shows as an
// outcome with Failure::kTimeout, and only kDone may follow it.  Only a
// discovery may go on: each server that it asks gets a part of the time.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "io/endpoint.hpp"
#include "store/remote/wire/command.hpp"

namespace limitree::remote {

class Node;  // common/node.hpp

// Where the keys of a command are.
struct Place {
  static constexpr std::int32_t kNoSlot = -1;

  bool per_second = false;      // at the servers for limits of a second
  std::int32_t slot = kNoSlot;  // matters to a cluster only

  friend bool operator==(const Place&, const Place&) = default;
};

// Which server a command is for.
struct Target {
  static constexpr std::int32_t kNoSlot = Place::kNoSlot;

  std::int32_t slot = kNoSlot;       // of its keys; matters to a cluster only
  std::optional<Endpoint> endpoint;  // this one, whichever node serves the slot
  bool sentinel = false;             // `endpoint` is a sentinel
  bool asking = false;               // preceded by ASKING
  bool per_second = false;           // see Place
  Node* node = nullptr;              // this one, of a router that knows it
};

class Task {
 public:
  struct Step {
    enum class Kind : std::uint8_t { kSend, kPause, kDone };
    Kind kind = Kind::kDone;
    Duration pause{};  // kPause
  };

  virtual ~Task() = default;

  virtual Step start() = 0;

  // Whether the command can have such a reply.  Called once, before answered(),
  // for a reply that is not an error; if not, the outcome is kNoDecision.
  virtual bool accepts(const Outcome& /*outcome*/) { return true; }

  virtual Step answered(Outcome outcome) = 0;
  virtual Step resumed() = 0;

  // What kSend sends, until the next call of a function above.
  virtual std::string_view bytes() const = 0;
  virtual const Target& target() const = 0;
  virtual Joinable joinable() const { return {}; }   // of bytes(); see Command
  virtual std::size_t replies() const { return 1; }  // the same
};

}  // namespace limitree::remote
