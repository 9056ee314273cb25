#include "store/redis/wire/client_reply.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "store/redis/wire/reader.hpp"
#include "store/redis/wire/resp.hpp"

namespace limitree::redis {

namespace {

std::string bytes_of(const ClientReply& reply) {
  std::string bytes;
  switch (reply.kind) {
    case ClientReply::Kind::kText:
      append_word(reply.text, &bytes);
      return bytes;
    case ClientReply::Kind::kError:
      bytes.append("-").append(reply.text.substr(0, Reader::kMaxLine));
      std::ranges::replace(bytes, '\r', ' ');
      std::ranges::replace(bytes, '\n', ' ');
      return bytes.append("\r\n");
    default:
      return ":0\r\n";  // no decision is a number
  }
}

}  // namespace

// The parser of our own connections makes the reply, within its bounds.
Outcome outcome_of(const ClientReply& reply) {
  const bool is_lost = reply.kind == ClientReply::Kind::kLost;
  if (is_lost || reply.kind == ClientReply::Kind::kUnsent) {
    const auto fate =
        is_lost ? Outcome::Fate::kUnknown : Outcome::Fate::kNotSent;
    return Outcome::lost(fate, Failure::kLost, std::string(reply.text));
  }
  Reader reader;
  reader.feed(bytes_of(reply));
  Reply made = reader.next();
  if (made == nullptr) {
    return Outcome::lost(Outcome::Fate::kUnknown, Failure::kProtocol,
                         reader.detail());
  }
  return answered(std::move(made));
}

}  // namespace limitree::redis
