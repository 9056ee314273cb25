// A client of the program that sends the commands of a store.

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "handles.hpp"

using namespace limitree;
using namespace limitree::capi;

static_assert(sizeof(void*) != 8 || sizeof(limitree_command) == 96);
static_assert(same(LIMITREE_REPLY_TEXT, ClientReply::Kind::kText));
static_assert(same(LIMITREE_REPLY_UNSENT, ClientReply::Kind::kUnsent));

namespace {

// The words of a command of ours, "*2\r\n$4\r\nPING\r\n...", which are views of
// its bytes.
std::vector<limitree_str> words_of(std::string_view bytes) {
  const auto take_head = [&bytes] {
    std::size_t number = 0;
    std::from_chars(bytes.data() + 1, bytes.data() + bytes.size(), number);
    bytes.remove_prefix(bytes.find('\n') + 1);
    return number;
  };
  std::vector<limitree_str> words(take_head());
  for (limitree_str& word : words) {
    word.size = take_head();
    word.data = bytes.data();
    bytes.remove_prefix(word.size + 2);
  }
  return words;
}

// Scripts have their keys in the same place.
std::size_t first_key_of(const std::vector<limitree_str>& words) {
  return view(words[0]).starts_with("EVAL") ? 3 : 0;
}

}  // namespace

limitree_status limitree_config_set_client(
    limitree_config* config, limitree_send_fn send, int32_t flags,
    void* user_data, void (*free_user_data)(void* user_data),
    limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config", send, "send");
    if ((flags & ~LIMITREE_CLIENT_CLUSTER) != 0) {
      return Status(Code::kInvalidArgument,
                    "unknown flags " + std::to_string(flags));
    }
    set_client(
        [send, data = owned(user_data, free_user_data)](
            std::uint64_t token, std::string_view bytes, Duration time_left) {
          const std::vector<limitree_str> words = words_of(bytes);
          limitree_command command{};
          command.token = token;
          command.bytes = {bytes.data(), bytes.size()};
          command.words = words.data();
          command.word_count = words.size();
          command.first_key = first_key_of(words);
          command.timeout_ns = time_left.count();
          send(&command, data.get());
        },
        flags != 0, &config->options);
    return {};
  });
}

int32_t limitree_client_reply(limitree_limiter* limiter, uint64_t token,
                              int32_t reply, limitree_str text) {
  if (limiter == nullptr || (text.data == nullptr && text.size != 0) ||
      reply < LIMITREE_REPLY_TEXT || reply > LIMITREE_REPLY_UNSENT) {
    return 0;
  }
  const ClientReply given{static_cast<ClientReply::Kind>(reply),
                          {text.data, text.size}};
  try {
    return limiter->limiter.reply(token, given) ? 1 : 0;
  } catch (...) {
    return 0;  // without memory for it, the command has no answer
  }
}
