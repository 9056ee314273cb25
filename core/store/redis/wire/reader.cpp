#include "store/redis/wire/reader.hpp"

#include <new>
#include <utility>

namespace limitree::redis {

namespace {

#if HIREDIS_MAJOR < 1
using ElementCount = int;
#else
using ElementCount = std::size_t;
#endif

redisReader* make_reader() {
  redisReader* const reader = redisReaderCreate();
  if (reader == nullptr) throw std::bad_alloc();
  return reader;
}

// How hiredis makes replies itself.
const redisReplyObjectFunctions& makers() {
  static const redisReplyObjectFunctions functions = [] {
    redisReader* const reader = make_reader();
    const redisReplyObjectFunctions copy = *reader->fn;
    redisReaderFree(reader);
    return copy;
  }();
  return functions;
}

// A null from these ends the parsing, as if there had been no memory.

void* make_array(const redisReadTask* task, ElementCount count) {
  std::size_t depth = 1;
  for (const redisReadTask* in = task->parent; in != nullptr; in = in->parent) {
    ++depth;
  }
  const bool fits = std::cmp_greater_equal(count, 0) &&
                    std::cmp_less_equal(count, Reader::kMaxElements) &&
                    depth <= Reader::kMaxDepth;
  if (task->type != REDIS_REPLY_ARRAY || !fits) return nullptr;
  return makers().createArray(task, count);
}

void* make_string(const redisReadTask* task, char* text, std::size_t size) {
  if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_STATUS &&
      task->type != REDIS_REPLY_ERROR) {
    return nullptr;
  }
  return makers().createString(task, text, size);
}

redisReplyObjectFunctions bounded_makers() {
  redisReplyObjectFunctions functions = makers();
  functions.createArray = make_array;
  functions.createString = make_string;
#if HIREDIS_MAJOR >= 1
  functions.createDouble = [](const redisReadTask*, double, char*,
                              std::size_t) -> void* { return nullptr; };
  functions.createBool = [](const redisReadTask*, int) -> void* {
    return nullptr;
  };
#endif
  return functions;
}

// Of what is being read; -1 if that is not known yet.
int open_type(const redisReader& reader) {
  if (reader.ridx < 0) return -1;
#if HIREDIS_MAJOR < 1
  return reader.rstack[reader.ridx].type;
#else
  return reader.task[reader.ridx]->type;
#endif
}

// The head of an array or a string, or a number: no more than its digits.
constexpr std::size_t kMaxHead = 64;

std::string describe(const redisReader& reader) {
  if (reader.err == REDIS_ERR_OOM)
    return "a reply too large, too deep or not of RESP2";
  // "Protocol error, got "H" as reply type byte": of a web server, say.
  std::string_view text = reader.errstr;
  constexpr std::string_view kPrefix = "Protocol error, ";
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  return "not the protocol of Redis: " + std::string(text);
}

// Room for the replies of many commands is kept between them.
constexpr std::size_t kIdleBuffer = std::size_t{64} << 10U;

// What a server answers in TLS to clients that do not speak it: an alert
// record.
constexpr std::string_view kTlsAlert = "\x15\x03";

}  // namespace

Reader::Reader() : reader_(make_reader()) {
  static redisReplyObjectFunctions functions = bounded_makers();
  reader_->fn = &functions;
  reader_->maxbuf = kIdleBuffer;
}

void Reader::feed(std::string_view bytes) {
  if (failed() || bytes.empty()) return;
  if (unanswered_ == 0 && bytes.starts_with(kTlsAlert)) {
    detail_ = "the server speaks TLS";
    return;
  }
  unanswered_ += bytes.size();
  if (passing_over_) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    passing_over_ = false;
    bytes.remove_prefix(end + 1);
    // The line was all of the reply, unless that is an array.
    if (reader_->ridx < 0) unanswered_ = bytes.size();
    if (bytes.empty()) return;
  }
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    throw std::bad_alloc();
  }
}

// hiredis looks for the end of a line from its start each time that more of it
// comes.  Ends one that has grown too long; false if there is none.
bool Reader::end_long_line() {
  const int type = open_type(*reader_);
  const std::string_view line(reader_->buf + reader_->pos,
                              reader_->len - reader_->pos);
  if (type == REDIS_REPLY_STATUS || type == REDIS_REPLY_ERROR) {
    if (line.size() <= kMaxLine) return false;
    if (redisReaderFeed(reader_.get(), "\r\n", 2) != REDIS_OK) {
      throw std::bad_alloc();
    }
    return passing_over_ = true;
  }
  if (type >= 0 && line.size() > kMaxHead &&
      line.substr(0, kMaxHead).find('\n') == std::string_view::npos) {
    detail_ = "a reply that begins with no number";
  }
  return false;
}

Reply Reader::next() {
  if (failed() || unanswered_ == 0) return nullptr;
  if (passing_over_) {
    if (unanswered_ > kMaxReply) detail_ = "a reply too large";
    return nullptr;
  }
  void* made = nullptr;
  do {
    if (redisReaderGetReply(reader_.get(), &made) != REDIS_OK) {
      detail_ = describe(*reader_);
      return nullptr;
    }
  } while (made == nullptr && end_long_line());
  if (made == nullptr) {
    if (unanswered_ > kMaxReply) detail_ = "a reply too large";
    return nullptr;
  }
  unanswered_ = reader_->len - reader_->pos;
  return Reply(static_cast<redisReply*>(made));
}

}  // namespace limitree::redis
