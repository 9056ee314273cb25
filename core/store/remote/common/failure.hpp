// What can go wrong between us and a server, each with its name and the
// reaction it calls for; see docs/redis.md and docs/memcached.md.

#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace limitree::remote {

enum class Failure : std::uint8_t {
  kNone,
  // The connection.
  kResolve,   // the host's name has no address
  kRefused,   // no connection could be made
  kTls,       // the handshake failed, or the certificate was refused
  kLost,      // closed by the other side, or broken
  kTimeout,   // no answer before the deadline
  kLate,      // the caller's own delay: the deadline passed before it was sent
  kProtocol,  // not a reply, or a reply without a command
  kNoDecision,  // a reply that the command never gets
  kBackoff,     // not tried: the last attempts failed a moment ago
  kCancelled,
  // Error replies, by their first word.
  kNoScript,
  kReadOnly,
  kLoading,
  kBusy,
  kOom,
  kNoAuth,     // NOAUTH, and DENIED: protected mode, no password set
  kWrongPass,  // WRONGPASS, "ERR AUTH ...", "ERR invalid password"
  kNoPerm,     // NOPERM, and a script's user who may not run a command
  kWrongType,
  kMasterDown,
  kNoReplicas,
  kMoved,
  kAsk,
  kTryAgain,
  kCrossSlot,
  kClusterDown,
  kMaxClients,
  kMisconf,  // MISCONF: it refuses writes because it cannot save them
  kScript,   // the script did not compile or run
  kOther,    // an error reply that is not known here
  // Of memcached.
  kConflict,  // others changed the same items until the deadline
  kClock,     // another process has used an item at a much later time
  kTooLarge,  // an item would be larger than the server takes
};
inline constexpr std::size_t kFailureCount =
    static_cast<std::size_t>(Failure::kTooLarge) + 1;

// "readonly" for kReadOnly: what Error::reason and the statistics say.
const char* failure_name(Failure failure);

// Whether the server fails, not just this request: counts for the circuit
// breaker.
bool is_outage(Failure failure);

// Whether an attempt that ends like this took no time and cost the server next
// to nothing, so that the next one may follow soon.
bool is_cheap(Failure failure);

// Whether the deadline has passed, so that nothing more may be sent.
bool is_out_of_time(Failure failure);

// As a Status: kStoreTimeout, kStoreProtocol, kCancelled, or else
// kStoreUnavailable, with failure_name() as its reason and the message
// "<where>: <detail>".  The words may be the server's: bytes that are not
// printable ASCII are written \xNN, and text after 4 KiB is cut off.
Status to_status(Failure failure, std::string_view where,
                 std::string_view detail);

}  // namespace limitree::remote
