#include "grpc/framing.hpp"

#include <algorithm>

namespace limitree::server {

namespace {

std::uint32_t byte_at(std::string_view text, std::size_t place) {
  return static_cast<unsigned char>(text[place]);
}

}  // namespace

FrameReader::Step FrameReader::read_prefix(std::string_view prefix,
                                           std::size_t max_size) {
  if (prefix[0] != 0 && prefix[0] != 1) return Step::kBadFlag;
  is_compressed_ = prefix[0] == 1;
  size_ = byte_at(prefix, 1) << 24 | byte_at(prefix, 2) << 16 |
          byte_at(prefix, 3) << 8 | byte_at(prefix, 4);
  return size_ > max_size ? Step::kTooLarge : Step::kMessage;
}

FrameReader::Step FrameReader::next(std::string_view* bytes,
                                    std::size_t max_size) {
  // The message of the call before was in held_.
  if (held_.size() >= kFramePrefix && held_.size() == kFramePrefix + size_) {
    held_.clear();
  }
  if (held_.empty() && bytes->size() >= kFramePrefix) {
    const Step step = read_prefix(*bytes, max_size);
    if (step != Step::kMessage) return step;
    if (bytes->size() - kFramePrefix >= size_) {  // nothing to copy
      message_ = bytes->substr(kFramePrefix, size_);
      bytes->remove_prefix(kFramePrefix + size_);
      return step;
    }
  }
  if (held_.size() < kFramePrefix) {
    const std::size_t missing =
        std::min(kFramePrefix - held_.size(), bytes->size());
    held_.append(bytes->substr(0, missing));
    bytes->remove_prefix(missing);
    if (held_.size() < kFramePrefix) return Step::kMore;
    const Step step = read_prefix(held_, max_size);
    if (step != Step::kMessage) return step;
  }
  const std::size_t missing =
      std::min(kFramePrefix + size_ - held_.size(), bytes->size());
  held_.append(bytes->substr(0, missing));
  bytes->remove_prefix(missing);
  if (held_.size() < kFramePrefix + size_) return Step::kMore;
  message_ = std::string_view(held_).substr(kFramePrefix);
  return Step::kMessage;
}

void FrameReader::clear() {
  std::string().swap(held_);
  message_ = {};
  size_ = 0;
}

void end_frame(std::string* out, std::size_t start, bool is_compressed) {
  const auto size =
      static_cast<std::uint32_t>(out->size() - start - kFramePrefix);
  char* const prefix = out->data() + start;
  prefix[0] = is_compressed ? 1 : 0;
  prefix[1] = static_cast<char>(size >> 24);
  prefix[2] = static_cast<char>(size >> 16);
  prefix[3] = static_cast<char>(size >> 8);
  prefix[4] = static_cast<char>(size);
}

}  // namespace limitree::server
