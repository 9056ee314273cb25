#include "store/redis/facts/trouble.hpp"

#include <array>
#include <utility>

namespace limitree::redis {

namespace {

struct Facts {
  const char* name;
  bool harmless;
  bool outage;
};

// In the order of Trouble.
//
// Harmless are the connections' troubles that come before a command can have
// been sent, and the errors that a server answers with before it carries
// anything out.  For the script that holds too, because it reads everything
// before its first write; not so for what may stop it half way.
//
// Rights that are missing are no outage: another request may have them.
constexpr std::array<Facts, kTroubleCount> kFacts = {{
    {"none", false, false},      {"resolve", true, true},
    {"refused", true, true},     {"tls", true, true},
    {"lost", false, true},       {"timeout", false, true},
    {"late", true, false},       {"protocol", false, true},
    {"nodecision", false, true}, {"backoff", true, false},
    {"cancelled", false, false}, {"noscript", true, false},
    {"readonly", true, false},   {"loading", true, true},
    {"busy", true, true},        {"oom", true, false},
    {"noauth", true, true},      {"wrongpass", true, true},
    {"noperm", false, false},    {"wrongtype", false, false},
    {"masterdown", true, true},  {"noreplicas", true, false},
    {"moved", true, false},      {"ask", true, false},
    {"tryagain", true, false},   {"crossslot", true, false},
    {"clusterdown", true, true}, {"maxclients", true, true},
    {"misconf", true, false},    {"script", false, false},
    {"other", false, false},
}};
static_assert(kFacts.back().name != nullptr, "one line for each Trouble");

const Facts& facts_of(Trouble trouble) {
  return kFacts[static_cast<std::size_t>(trouble)];
}

using Text = std::pair<std::string_view, Trouble>;

constexpr Text kWords[] = {
    {"NOSCRIPT", Trouble::kNoScript},
    {"READONLY", Trouble::kReadOnly},
    {"LOADING", Trouble::kLoading},
    {"BUSY", Trouble::kBusy},
    {"OOM", Trouble::kOom},
    {"NOAUTH", Trouble::kNoAuth},
    {"DENIED", Trouble::kNoAuth},
    {"WRONGPASS", Trouble::kWrongPass},
    {"NOPERM", Trouble::kNoPerm},
    {"WRONGTYPE", Trouble::kWrongType},
    {"MASTERDOWN", Trouble::kMasterDown},
    {"NOREPLICAS", Trouble::kNoReplicas},
    {"MOVED", Trouble::kMoved},
    {"ASK", Trouble::kAsk},
    {"TRYAGAIN", Trouble::kTryAgain},
    {"CROSSSLOT", Trouble::kCrossSlot},
    {"CLUSTERDOWN", Trouble::kClusterDown},
    {"MISCONF", Trouble::kMisconf},
};

// What may follow ERR, which says nothing by itself.
constexpr Text kErrStarts[] = {
    {"AUTH ", Trouble::kWrongPass},
    {"Client sent AUTH, but no password is set", Trouble::kWrongPass},
    {"invalid password", Trouble::kWrongPass},
    {"max number of clients", Trouble::kMaxClients},
    {"The user executing the script can't ", Trouble::kNoPerm},
    {"Error compiling script", Trouble::kScript},
    {"Error running script", Trouble::kScript},
    {"Script attempted to access", Trouble::kScript},
    {"user_script:", Trouble::kScript},
};

// How an error reply ends that was raised inside a script.
constexpr std::string_view kRaisedInScript = ", on @user_script:";

constexpr std::size_t kLongestText = std::size_t{4} << 10U;

// What a server says may be read in a terminal.
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

Trouble find_word(std::string_view text) {
  const std::string_view first = text.substr(0, text.find(' '));
  for (const auto& [word, trouble] : kWords) {
    if (first == word) return trouble;
  }
  return Trouble::kOther;
}

// Servers before 7.0 wrap what a command inside a script said: "Error running
// script (call to f_<sha>): @user_script:1: -READONLY You can't ...".
Trouble find_wrapped(std::string_view text) {
  constexpr std::string_view kPlace = "@user_script:";
  const std::size_t place = text.rfind(kPlace);
  if (place == std::string_view::npos) return Trouble::kOther;
  const std::size_t line = text.find(": ", place + kPlace.size());
  if (line == std::string_view::npos) return Trouble::kOther;
  text.remove_prefix(line + 2);
  if (text.starts_with('-')) text.remove_prefix(1);
  return find_word(text);
}

}  // namespace

const char* trouble_name(Trouble trouble) { return facts_of(trouble).name; }

bool is_harmless(Trouble trouble) { return facts_of(trouble).harmless; }

bool is_outage(Trouble trouble) { return facts_of(trouble).outage; }

bool is_out_of_time(Trouble trouble) {
  return trouble == Trouble::kTimeout || trouble == Trouble::kLate;
}

Trouble trouble_of(std::string_view error_reply) {
  const Trouble word = find_word(error_reply);
  constexpr std::string_view kErr = "ERR ";
  if (word != Trouble::kOther || !error_reply.starts_with(kErr)) return word;
  const std::string_view text = error_reply.substr(kErr.size());
  if (text.starts_with("Error running script")) {
    const Trouble wrapped = find_wrapped(text);
    if (wrapped != Trouble::kOther) return wrapped;
  }
  for (const auto& [start, trouble] : kErrStarts) {
    if (text.starts_with(start)) return trouble;
  }
  return text.find(kRaisedInScript) != std::string_view::npos ? Trouble::kScript
                                                              : Trouble::kOther;
}

Status to_status(Trouble trouble, std::string_view where,
                 std::string_view detail) {
  Code code = Code::kStoreUnavailable;
  if (is_out_of_time(trouble)) code = Code::kStoreTimeout;
  if (trouble == Trouble::kProtocol || trouble == Trouble::kNoDecision) {
    code = Code::kStoreProtocol;
  }
  if (trouble == Trouble::kCancelled) code = Code::kCancelled;
  std::string message;
  append_printable(where, &message);
  message += ": ";
  append_printable(detail, &message);
  return Status(Error{code, {std::move(message)}, trouble_name(trouble)});
}

}  // namespace limitree::redis
