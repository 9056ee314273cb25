#include "limiter/receipt.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "base/byte_stream.hpp"
#include "store/siphash.hpp"

namespace limitree {

namespace {

constexpr std::string_view kPrefix = "lr1.";
constexpr std::string_view kDigits64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kWord = 8;

// It finds accidents.  Whoever makes a receipt on purpose does not know an id.
std::uint64_t sum_of(std::string_view bytes) {
  SipHash hash(SipKey{});
  hash.absorb(bytes, 0);
  return hash.finish();
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) {
      text.push_back(kDigits64[bits >> (count - 6) & 63]);
    }
  }
  if (count > 0) text.push_back(kDigits64[bits << (6 - count) & 63]);
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    const std::size_t value = kDigits64.find(digit);
    if (value == kDigits64.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count));
  }
  // A receipt has one text.
  const std::uint32_t rest = bits & ((1U << count) - 1);
  if (count >= 6 || rest != 0) return std::nullopt;
  return bytes;
}

Status refuse(std::string what) {
  return Status(Code::kInvalidArgument, std::move(what));
}

Status too_long() {
  return refuse("a receipt has at most " + std::to_string(kMaxReceipt) +
                " bytes");
}

Status no_receipt() {
  return refuse("this is not a receipt of limitree, or it was changed");
}

}  // namespace

Result<std::string> receipt_text(std::span<const PathCost> paths, HoldId id) {
  std::string bytes;
  ByteWriter writer(&bytes);
  writer.put_word(id.high);
  writer.put_word(id.low);
  for (const PathCost& path : paths) {
    writer.put(static_cast<std::uint64_t>(path.part));
    writer.put(path.path.size());
    for (const std::string_view segment : path.path) {
      if (bytes.size() + segment.size() > kMaxReceipt) return too_long();
      writer.put_text(segment);
    }
  }
  writer.put_word(sum_of(bytes));
  std::string text = std::string(kPrefix) + to_base64(bytes);
  if (text.size() > kMaxReceipt) return too_long();
  return text;
}

Result<Receipt> Receipt::read(std::string_view text) {
  if (text.size() > kMaxReceipt) return too_long();
  if (!text.starts_with(kPrefix)) return no_receipt();
  const std::optional<std::string> bytes =
      from_base64(text.substr(kPrefix.size()));
  if (!bytes || bytes->size() < 3 * kWord) return no_receipt();
  const std::string_view content(bytes->data(), bytes->size() - kWord);
  ByteReader sum(std::string_view(*bytes).substr(content.size()));
  if (sum.take_word() != sum_of(content)) return no_receipt();

  Receipt receipt;
  ByteReader reader(content);
  receipt.id_.high = reader.take_word();
  receipt.id_.low = reader.take_word();
  while (reader.left() > 0) {
    const std::uint64_t part = reader.take();
    if (part > static_cast<std::uint64_t>(Part::kCheck)) return no_receipt();
    Way way{{}, static_cast<Part>(part)};
    for (std::size_t left = reader.take_count(1); left > 0; --left) {
      way.segments.emplace_back(reader.take_text());
    }
    receipt.paths_.push_back(std::move(way));
  }
  if (reader.failed() || receipt.paths_.empty()) return no_receipt();
  return receipt;
}

}  // namespace limitree
