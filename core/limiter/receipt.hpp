// A reservation as text, for queues and other processes: its paths and the id
// of its holds.
//
//   lr1.<base64url of: id, for each path its part and segments, check sum>
//
// Numbers are LEB128, texts have their size before them.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hold.hpp"
#include "base/status.hpp"
#include "limiter/limiter.hpp"

namespace limitree {

// The most bytes of a receipt.
inline constexpr std::size_t kMaxReceipt = std::size_t{64} * 1024;

// kInvalidArgument if that is too much for a receipt.
Result<std::string> receipt_text(std::span<const PathCost> paths, HoldId id);

class Receipt {
 public:
  // kInvalidArgument if `text` is not a receipt, or was changed.
  static Result<Receipt> read(std::string_view text);

  struct Way {
    std::vector<std::string> segments;
    Part part;
  };
  const std::vector<Way>& paths() const { return paths_; }
  const HoldId& id() const { return id_; }

 private:
  HoldId id_;
  std::vector<Way> paths_;
};

}  // namespace limitree
