#include "store/redis/command.hpp"

#include <charconv>
#include <utility>

namespace limitree::redis {

namespace {

// "*3\r\n" or "$3\r\n".
void append_head(char type, std::size_t number, std::string* out) {
  char text[24];
  text[0] = type;
  char* end = std::to_chars(text + 1, text + sizeof text - 2, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out->append(text, end);
}

}  // namespace

Outcome Outcome::answered(Reply reply) {
  Outcome outcome;
  outcome.fate = Fate::kAnswered;
  if (reply->type == REDIS_REPLY_ERROR) {
    const std::string_view text(reply->str, reply->len);
    outcome.trouble = trouble_of(text);
    outcome.detail = text;
  }
  outcome.reply = std::move(reply);
  return outcome;
}

Outcome Outcome::lost(Fate fate, Trouble trouble, std::string detail) {
  Outcome outcome;
  outcome.fate = fate;
  outcome.trouble = trouble;
  outcome.detail = std::move(detail);
  return outcome;
}

void append_command(std::initializer_list<std::string_view> words,
                    std::string* out) {
  append_array(words.size(), out);
  for (const std::string_view word : words) append_word(word, out);
}

void append_array(std::size_t words, std::string* out) {
  append_head('*', words, out);
}

void append_word(std::string_view word, std::string* out) {
  append_head('$', word.size(), out);
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

}  // namespace limitree::redis
