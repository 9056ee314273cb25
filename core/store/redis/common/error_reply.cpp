#include "store/redis/common/error_reply.hpp"

#include <utility>

namespace limitree::redis {

namespace {

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

}  // namespace limitree::redis
