#include "limiter/receipt.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

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

void put_word(std::uint64_t word, std::string* bytes) {
  for (std::size_t i = 0; i < kWord; ++i) {
    bytes->push_back(static_cast<char>(word >> 8 * i));
  }
}

void put_number(std::size_t number, std::string* bytes) {
  for (; number >= 128; number >>= 7) {
    bytes->push_back(static_cast<char>(number | 128));
  }
  bytes->push_back(static_cast<char>(number));
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

// Takes values off the front of bytes; after a mistake all are empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t word() {
    std::uint64_t word = 0;
    const std::string_view bytes = take(kWord);
    for (std::size_t i = bytes.size(); i-- > 0;) {
      word = word << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return word;
  }
  std::size_t number() {
    std::size_t number = 0;
    for (unsigned shift = 0; shift < 28; shift += 7) {
      const std::string_view byte = take(1);
      if (failed_) return 0;
      const auto bits = static_cast<unsigned char>(byte[0]);
      number |= std::size_t{bits & 127U} << shift;
      if (bits < 128) return number;
    }
    failed_ = true;
    return 0;
  }
  bool is_at_end() const { return rest_.empty(); }
  bool ok() const { return !failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

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
  put_word(id.high, &bytes);
  put_word(id.low, &bytes);
  for (const PathCost& path : paths) {
    bytes.push_back(static_cast<char>(path.part));
    put_number(path.path.size(), &bytes);
    for (const std::string_view segment : path.path) {
      if (bytes.size() + segment.size() > kMaxReceipt) return too_long();
      put_number(segment.size(), &bytes);
      bytes.append(segment);
    }
  }
  put_word(sum_of(bytes), &bytes);
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
  Reader sum(std::string_view(*bytes).substr(content.size()));
  if (sum.word() != sum_of(content)) return no_receipt();

  Receipt receipt;
  Reader reader(content);
  receipt.id_.high = reader.word();
  receipt.id_.low = reader.word();
  while (reader.ok() && !reader.is_at_end()) {
    const auto part = static_cast<unsigned char>(reader.take(1)[0]);
    if (part > static_cast<unsigned>(Part::kCheck)) return no_receipt();
    Way way{{}, static_cast<Part>(part)};
    for (std::size_t left = reader.number(); reader.ok() && left > 0; --left) {
      way.segments.emplace_back(reader.take(reader.number()));
    }
    receipt.paths_.push_back(std::move(way));
  }
  if (!reader.ok() || receipt.paths_.empty()) return no_receipt();
  return receipt;
}

}  // namespace limitree
