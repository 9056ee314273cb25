// Bytes from a server, made into replies: the parser of hiredis, within bounds.
//
// A faulty server, or something else that listens on its port, must not make us
// allocate whatever it announces: "*1000000000" is 13 bytes.
//
// RESP2 only, which is what is spoken unless HELLO asks for more.

#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "store/redis/wire/resp.hpp"

namespace limitree::redis {

class Reader {
 public:
  // Of one array; CLUSTER SLOTS may tell one range for each slot.
  static constexpr std::size_t kMaxElements = 16384;
  // Arrays within arrays; hiredis 1.0 and later would nest them as deep as the
  // reply says, and frees them by recursion.
  static constexpr std::size_t kMaxDepth = 7;
  // Of one reply, in bytes.
  static constexpr std::size_t kMaxReply = std::size_t{1} << 20U;
  // Of a status or an error, in bytes, roughly.  The rest of a longer line is
  // passed over, each byte of it once.
  static constexpr std::size_t kMaxLine = std::size_t{4} << 10U;

  Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void feed(std::string_view bytes);

  // The next reply that is complete; null if there is none, or if the bytes are
  // not a reply: then failed() stays true.
  Reply next();

  bool failed() const { return !detail_.empty(); }
  const std::string& detail() const { return detail_; }  // what was wrong

 private:
  struct Free {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  bool end_long_line();

  std::unique_ptr<redisReader, Free> reader_;
  bool passing_over_ = false;   // the rest of a line that was cut
  std::size_t unanswered_ = 0;  // bytes since the end of the last reply
  std::string detail_;
};

}  // namespace limitree::redis
