// Bytes to be sent, and how far they have been.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace limitree::remote {

class Outbox {
 public:
  bool empty() const { return sent_ == bytes_.size(); }
  std::size_t size() const { return bytes_.size() - sent_; }
  std::string_view view() const {
    return std::string_view(bytes_).substr(sent_);
  }

  // To append to.
  std::string* tail() { return &bytes_; }

  // Positions, counted from the first byte that was ever put in.
  std::uint64_t sent() const { return gone_ + sent_; }
  std::uint64_t end() const { return gone_ + bytes_.size(); }

  // REQUIRES: not all bytes before `to` have been sent.
  std::string_view between(std::uint64_t from, std::uint64_t to) const {
    return std::string_view(bytes_).substr(from - gone_, to - from);
  }

  void remove_front(std::size_t size) {
    sent_ += size;
    if (!empty()) return;
    gone_ += bytes_.size();
    bytes_.clear();
    sent_ = 0;
  }

  // Takes back the bytes between two positions; what follows moves up.
  // REQUIRES: none of them has been sent.
  void take_back(std::uint64_t from, std::uint64_t to) {
    bytes_.erase(from - gone_, to - from);
    remove_front(0);
  }

 private:
  std::string bytes_;
  std::size_t sent_ = 0;    // of bytes_
  std::uint64_t gone_ = 0;  // before bytes_[0]
};

}  // namespace limitree::remote
