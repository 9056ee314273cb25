// Messages in the bytes of a call: a flag, four bytes of size, the message.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace limitree::server {

inline constexpr std::size_t kFramePrefix = 5;

// Takes the bytes of a call as they come, and returns its messages.
class FrameReader {
 public:
  enum class Step {
    kMessage,   // message() is one
    kMore,      // all bytes are used; the next message is not complete
    kBadFlag,   // no more can be read
    kTooLarge,  // no more can be read; size() is that of the message
  };

  // Tries to read a message from *bytes, and cuts the used part off.  The
  // message is valid until the next call or the end of those bytes.
  Step next(std::string_view* bytes, std::size_t max_size);

  std::string_view message() const { return message_; }
  std::size_t size() const { return size_; }
  // Whether the message is compressed, as grpc-encoding says.
  bool is_compressed() const { return is_compressed_; }

  // Bytes of a message that is not complete.
  std::size_t held() const { return held_.size(); }
  bool is_empty() const { return held_.empty(); }
  void clear();

 private:
  Step read_prefix(std::string_view prefix, std::size_t max_size);

  std::string held_;  // from the prefix on
  std::string_view message_;
  std::size_t size_ = 0;
  bool is_compressed_ = false;
};

// Adds room for the prefix of a message that is then appended to *out.
inline std::size_t begin_frame(std::string* out) {
  const std::size_t start = out->size();
  out->append(kFramePrefix, '\0');
  return start;
}

// Writes the prefix of the message that begin_frame() began.
void end_frame(std::string* out, std::size_t start, bool is_compressed = false);

}  // namespace limitree::server
