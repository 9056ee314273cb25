// Commands and replies of Redis.

#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "store/redis/common/settings.hpp"
#include "store/remote/wire/command.hpp"

namespace limitree::redis {

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeRedisReply>;

// With the failure of an error reply.
Outcome answered(Reply reply);

// REQUIRES: it was answered by Redis.
inline redisReply& redis_reply(const Outcome& outcome) {
  return *static_cast<redisReply*>(outcome.reply.get());
}

// Appends a command of these words in RESP.
void append_command(std::initializer_list<std::string_view> words,
                    std::string* out);

// The same, by itself.
std::string command_of(std::initializer_list<std::string_view> words);

// Pieces of the same, for commands whose words are made one by one.
void append_array(std::size_t words, std::string* out);  // *3\r\n
void append_word(std::string_view word, std::string* out);
void append_word(std::int64_t number, std::string* out);

// Makes a word of all that stands in *out from `start` on.
void end_word(std::size_t start, std::string* out);

}  // namespace limitree::redis
