#include "store/remote/common/failure.hpp"

#include <array>
#include <utility>

#include "base/utf8.hpp"

namespace limitree::remote {

namespace {

struct Facts {
  const char* name;
  bool outage = false;
  bool cheap = false;
};

// In the order of Failure.
//
// A missing permission is not an outage: another request may have it.
//
// An outage is cheap if no caller waits for a server, and no server has to make
// a handshake, check a password or hold one more client.
constexpr std::array<Facts, kFailureCount> kFacts = {{
    {"none"},
    {"resolve", true, true},
    {"refused", true, true},
    {"tls", true},
    {"lost", true, true},
    {"timeout", true},
    {"late"},
    {"protocol", true},
    {"nodecision", true},
    {"backoff"},
    {"cancelled"},
    {"noscript"},
    {"readonly"},
    {"loading", true, true},
    {"busy", true, true},
    {"oom"},
    {"noauth", true},
    {"wrongpass", true},
    {"noperm"},
    {"wrongtype"},
    {"masterdown", true, true},
    {"noreplicas"},
    {"moved"},
    {"ask"},
    {"tryagain"},
    {"crossslot"},
    {"clusterdown", true, true},
    {"maxclients", true},
    {"misconf"},
    {"script"},
    {"other"},
    {"conflict"},
    {"clock"},
    {"toolarge"},
}};
static_assert(kFacts.back().name != nullptr, "one line for each Failure");

const Facts& facts_of(Failure failure) {
  return kFacts[static_cast<std::size_t>(failure)];
}

constexpr std::size_t kLongestText = std::size_t{4} << 10U;

// Text from a server may be shown in a terminal.
void append_printable(std::string_view text, std::string* out) {
  for (const char c : text.substr(0, kLongestText)) {
    if (c >= ' ' && c <= '~') {
      out->push_back(c);
      continue;
    }
    out->append("\\x");
    append_hex(static_cast<unsigned char>(c), out, "0123456789abcdef");
  }
  if (text.size() > kLongestText) out->append("...");
}

}  // namespace

const char* failure_name(Failure failure) { return facts_of(failure).name; }

bool is_outage(Failure failure) { return facts_of(failure).outage; }

bool is_cheap(Failure failure) { return facts_of(failure).cheap; }

bool is_out_of_time(Failure failure) {
  return failure == Failure::kTimeout || failure == Failure::kLate;
}

Status to_status(Failure failure, std::string_view where,
                 std::string_view detail) {
  Code code = Code::kStoreUnavailable;
  if (is_out_of_time(failure)) code = Code::kStoreTimeout;
  if (failure == Failure::kProtocol || failure == Failure::kNoDecision) {
    code = Code::kStoreProtocol;
  }
  if (failure == Failure::kCancelled) code = Code::kCancelled;
  std::string message;
  append_printable(where, &message);
  message += ": ";
  append_printable(detail, &message);
  return Status(Error{code, {std::move(message)}, failure_name(failure)});
}

}  // namespace limitree::remote
