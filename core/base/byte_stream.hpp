// Numbers and texts as bytes that other processes read.
//
// A number is a varint of 7 bits per byte, the lowest first (LEB128); one that
// may be negative is zigzag-encoded.  A word has its 8 bytes, the lowest first.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace limitree {

class ByteWriter {
 public:
  explicit ByteWriter(std::string* out) : out_(*out) {}

  void put(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7U) {
      out_.push_back(static_cast<char>(number | 0x80));
    }
    out_.push_back(static_cast<char>(number));
  }
  void put_signed(std::int64_t number) {
    put((static_cast<std::uint64_t>(number) << 1U) ^
        static_cast<std::uint64_t>(number >> 63));
  }
  void put_word(std::uint64_t word) {
    for (int i = 0; i < 8; ++i, word >>= 8U) {
      out_.push_back(static_cast<char>(word));
    }
  }
  // Its size, and its bytes.
  void put_text(std::string_view text) {
    put(text.size());
    out_.append(text);
  }

 private:
  std::string& out_;
};

// Takes these off the front.  Once something is wrong, nothing is left, and all
// numbers are 0.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  std::size_t left() const { return bytes_.size(); }

  std::uint64_t take() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      // The tenth byte has one bit left.
      if (shift == 63 && byte > 1) break;
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
    return fail();
  }
  std::int64_t take_signed() {
    const std::uint64_t number = take();
    return static_cast<std::int64_t>((number >> 1U) ^ (0 - (number & 1U)));
  }
  std::uint32_t take_small() {
    const std::uint64_t number = take();
    return static_cast<std::uint32_t>(number <= UINT32_MAX ? number : fail());
  }
  std::uint64_t take_word() {
    if (bytes_.size() < 8) return fail();
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 8; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    }
    bytes_.remove_prefix(8);
    return word;
  }
  // How many parts follow, of at least `least` bytes each.
  std::size_t take_count(std::size_t least) {
    const std::uint64_t count = take();
    return count <= bytes_.size() / least ? static_cast<std::size_t>(count)
                                          : fail();
  }
  std::string_view take_text() {
    const std::size_t size = take_count(1);
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }

 private:
  std::uint8_t fail() {
    failed_ = true;
    bytes_ = {};
    return 0;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace limitree
