// Bytes that a server might send, or whatever else listens on its port.
//
// Whole or byte by byte, they make the same replies, within bounds; and the
// errors among them are read without reading past them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "store/redis/route/topology_reply.hpp"
#include "store/redis/wire/greeting.hpp"
#include "store/redis/wire/reader.hpp"
#include "store/redis/wire/resp.hpp"

namespace {

using limitree::redis::Outcome;
using limitree::redis::Reader;
using limitree::redis::Reply;

void require(bool fact) {
  if (!fact) std::abort();
}

// Appends all that the reply says, touching every byte of it.
void describe(const redisReply& reply, int depth, std::string* text) {
  require(depth < 16);
  *text += std::to_string(reply.type) + " ";
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      *text += std::to_string(reply.integer);
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
      text->append(reply.str, reply.len);
      require(reply.str[reply.len] == '\0');
      break;
    case REDIS_REPLY_ARRAY:
      require(reply.elements <= Reader::kMaxElements);
      for (std::size_t i = 0; i < reply.elements; ++i) {
        describe(*reply.element[i], depth + 1, text);
      }
      break;
    default:
      require(reply.type == REDIS_REPLY_NIL);
  }
  *text += "\n";
}

void use(Reply reply) {
  (void)limitree::redis::parse_redirect(*reply);
  std::string bytes;
  const limitree::redis::Login login{"user", "secret", 1, "name"};
  limitree::redis::Greeting greeting(login, &bytes);
  while (!greeting.answered()) {
    std::string detail;
    (void)greeting.answer(*reply, &detail);
  }
  const Outcome outcome = limitree::redis::answered(std::move(reply));
  (void)limitree::redis::to_status(outcome.failure, "here", outcome.detail);
}

// What the reader makes of `bytes`, taken `step` at a time.
std::string read(std::string_view bytes, std::size_t step) {
  Reader reader;
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    reader.feed(bytes.substr(0, step));
    while (Reply reply = reader.next()) {
      describe(*reply, 0, &text);
      if (step > 1) use(std::move(reply));
    }
  }
  return reader.failed() ? text + "failed" : text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  require(read(bytes, size) == read(bytes, 1));
  return 0;
}
