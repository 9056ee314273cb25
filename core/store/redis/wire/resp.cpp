#include "store/redis/wire/resp.hpp"

#include <charconv>

#include "store/redis/common/error_reply.hpp"

namespace limitree::redis {

namespace {

// "*3\r\n" or "$3\r\n".
struct Head {
  Head(char type, std::size_t number) {
    text[0] = type;
    char* end = std::to_chars(text + 1, text + sizeof text - 2, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    size = static_cast<std::size_t>(end - text);
  }
  std::string_view view() const { return {text, size}; }

  char text[24];
  std::size_t size;
};

}  // namespace

Outcome answered(Reply reply) {
  Outcome outcome;
  outcome.fate = Outcome::Fate::kAnswered;
  if (reply->type == REDIS_REPLY_ERROR) {
    const std::string_view text(reply->str, reply->len);
    outcome.failure = failure_of(text);
    outcome.detail = text;
  }
  outcome.reply = remote::Reply(reply.release(),
                                {[](void* made) { freeReplyObject(made); }});
  return outcome;
}

void append_command(std::initializer_list<std::string_view> words,
                    std::string* out) {
  append_array(words.size(), out);
  for (const std::string_view word : words) append_word(word, out);
}

std::string command_of(std::initializer_list<std::string_view> words) {
  std::string bytes;
  append_command(words, &bytes);
  return bytes;
}

void append_array(std::size_t words, std::string* out) {
  out->append(Head('*', words).view());
}

void append_word(std::string_view word, std::string* out) {
  out->append(Head('$', word.size()).view());
  out->append(word);
  out->append("\r\n");
}

void append_word(std::int64_t number, std::string* out) {
  char digits[24];
  const char* const end =
      std::to_chars(digits, digits + sizeof digits, number).ptr;
  append_word(std::string_view(digits, static_cast<std::size_t>(end - digits)),
              out);
}

void end_word(std::size_t start, std::string* out) {
  out->insert(start, Head('$', out->size() - start).view());
  out->append("\r\n");
}

}  // namespace limitree::redis
