// Parses replies in RESP, as a server writes them.

#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "store/redis/common/remote.hpp"
#include "store/redis/wire/resp.hpp"

namespace limitree::redis {

// Parses one reply, such as "-MOVED 1 h:1\r\n".
inline Reply reply_of(std::string_view resp) {
  const std::unique_ptr<redisReader, void (*)(redisReader*)> reader(
      redisReaderCreate(), redisReaderFree);
  redisReaderFeed(reader.get(), resp.data(), resp.size());
  void* reply = nullptr;
  if (redisReaderGetReply(reader.get(), &reply) != REDIS_OK ||
      reply == nullptr) {
    throw std::runtime_error("not a complete reply: " + std::string(resp));
  }
  return Reply(static_cast<redisReply*>(reply));
}

}  // namespace limitree::redis
