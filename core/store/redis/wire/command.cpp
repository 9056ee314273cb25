#include "store/redis/wire/command.hpp"

#include <charconv>
#include <utility>

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

Outcome Outcome::answered(Reply reply) {
  Outcome outcome;
  outcome.fate = Fate::kAnswered;
  if (reply->type == REDIS_REPLY_ERROR) {
    const std::string_view text(reply->str, reply->len);
    outcome.failure = failure_of(text);
    outcome.detail = text;
  }
  outcome.reply = std::move(reply);
  return outcome;
}

Outcome Outcome::lost(Fate fate, Failure failure, std::string detail) {
  Outcome outcome;
  outcome.fate = fate;
  outcome.failure = failure;
  outcome.detail = std::move(detail);
  return outcome;
}

Outcome Outcome::timed_out(bool sent, std::string_view waits_for) {
  if (sent) {
    return lost(Fate::kUnknown, Failure::kTimeout, "no answer in time");
  }
  std::string detail = "no connection in time";
  if (!waits_for.empty()) detail.append(": ").append(waits_for);
  return lost(Fate::kNotSent, Failure::kTimeout, std::move(detail));
}

Outcome Outcome::came_late() {
  return lost(Fate::kNotSent, Failure::kLate,
              "this process had no time to send it");
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
