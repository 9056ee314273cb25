#include "store/redis/common/failure.hpp"

#include <array>
#include <utility>

namespace limitree::redis {

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
}};
static_assert(kFacts.back().name != nullptr, "one line for each Failure");

const Facts& facts_of(Failure failure) {
  return kFacts[static_cast<std::size_t>(failure)];
}

using Text = std::pair<std::string_view, Failure>;

constexpr Text kWords[] = {
    {"NOSCRIPT", Failure::kNoScript},
    {"READONLY", Failure::kReadOnly},
    {"LOADING", Failure::kLoading},
    {"BUSY", Failure::kBusy},
    {"OOM", Failure::kOom},
    {"NOAUTH", Failure::kNoAuth},
    {"DENIED", Failure::kNoAuth},
    {"WRONGPASS", Failure::kWrongPass},
    {"NOPERM", Failure::kNoPerm},
    {"WRONGTYPE", Failure::kWrongType},
    {"MASTERDOWN", Failure::kMasterDown},
    {"NOREPLICAS", Failure::kNoReplicas},
    {"MOVED", Failure::kMoved},
    {"ASK", Failure::kAsk},
    {"TRYAGAIN", Failure::kTryAgain},
    {"CROSSSLOT", Failure::kCrossSlot},
    {"CLUSTERDOWN", Failure::kClusterDown},
    {"MISCONF", Failure::kMisconf},
};

// What may follow ERR, which says nothing by itself.
constexpr Text kErrStarts[] = {
    {"AUTH ", Failure::kWrongPass},
    {"Client sent AUTH, but no password is set", Failure::kWrongPass},
    {"invalid password", Failure::kWrongPass},
    {"max number of clients", Failure::kMaxClients},
    {"The user executing the script can't ", Failure::kNoPerm},
    {"Error compiling script", Failure::kScript},
    {"Error running script", Failure::kScript},
    {"Script attempted to access", Failure::kScript},
    {"user_script:", Failure::kScript},
};

// How an error reply ends if it was raised inside a script.
constexpr std::string_view kRaisedInScript = ", on @user_script:";

constexpr std::size_t kLongestText = std::size_t{4} << 10U;

// Text from a server may be shown in a terminal.
void append_printable(std::string_view text, std::string* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : text.substr(0, kLongestText)) {
    if (c >= ' ' && c <= '~') {
      out->push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out->append("\\x");
    out->push_back(kDigits[byte >> 4U]);
    out->push_back(kDigits[byte & 15U]);
  }
  if (text.size() > kLongestText) out->append("...");
}

Failure find_word(std::string_view text) {
  const std::string_view first = text.substr(0, text.find(' '));
  for (const auto& [word, failure] : kWords) {
    if (first == word) return failure;
  }
  return Failure::kOther;
}

// Servers before 7.0 wrap the error of a command inside a script: "Error
// running script (call to f_<sha>): @user_script:1: -READONLY You can't ...".
Failure find_wrapped(std::string_view text) {
  constexpr std::string_view kPlace = "@user_script:";
  const std::size_t place = text.rfind(kPlace);
  if (place == std::string_view::npos) return Failure::kOther;
  const std::size_t line = text.find(": ", place + kPlace.size());
  if (line == std::string_view::npos) return Failure::kOther;
  text.remove_prefix(line + 2);
  if (text.starts_with('-')) text.remove_prefix(1);
  return find_word(text);
}

}  // namespace

const char* failure_name(Failure failure) { return facts_of(failure).name; }

bool is_outage(Failure failure) { return facts_of(failure).outage; }

bool is_cheap(Failure failure) { return facts_of(failure).cheap; }

bool is_out_of_time(Failure failure) {
  return failure == Failure::kTimeout || failure == Failure::kLate;
}

Failure failure_of(std::string_view error_reply) {
  const Failure word = find_word(error_reply);
  constexpr std::string_view kErr = "ERR ";
  if (word != Failure::kOther || !error_reply.starts_with(kErr)) return word;
  const std::string_view text = error_reply.substr(kErr.size());
  if (text.starts_with("Error running script")) {
    const Failure wrapped = find_wrapped(text);
    if (wrapped != Failure::kOther) return wrapped;
  }
  for (const auto& [start, failure] : kErrStarts) {
    if (text.starts_with(start)) return failure;
  }
  return text.find(kRaisedInScript) != std::string_view::npos ? Failure::kScript
                                                              : Failure::kOther;
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

}  // namespace limitree::redis
