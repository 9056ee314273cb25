#include "store/memcached/item.hpp"

#include <algorithm>

#include "base/byte_stream.hpp"
#include "base/limit.hpp"

namespace limitree::memcached {

namespace {

// A limit alone never makes an item too large: at most 15 bytes for an entry.
static_assert(15 * kMaxLogUnits <= std::int64_t{512} << 10);
static_assert(std::int64_t{31} * kMaxHolds <= std::int64_t{512} << 10);

constexpr std::string_view kMagic = "LT";
constexpr char kVersion = 1;

// Times wrap around, so that the bytes of any number are read as some time.
constexpr std::int64_t less(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) -
                                   static_cast<std::uint64_t>(b));
}
constexpr std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                   static_cast<std::uint64_t>(b));
}

constexpr std::int64_t ns_of(Instant at) {
  return at.time_since_epoch().count();
}
constexpr std::int64_t micros_of(Instant at) { return ns_of(at) / 1000; }
constexpr Instant at_ns(std::int64_t ns) { return Instant(Duration(ns)); }
constexpr Instant at_micros(std::int64_t micros) {
  return at_ns(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(micros) * 1000));
}

void put_field(const Field& field, Instant latest, ByteWriter* out) {
  out->put_text(field.name);
  out->put(static_cast<std::uint64_t>(field.kind));
  if (field.kind == Field::Kind::kTat) {
    return out->put_signed(less(ns_of(field.over), ns_of(latest)));
  }
  out->put_signed(less(micros_of(field.over), micros_of(latest)));
  out->put_signed(field.start);
  switch (field.kind) {
    case Field::Kind::kTat:
      break;
    case Field::Kind::kCounts:
    case Field::Kind::kTail:
      out->put(field.current);
      out->put(field.previous);
      break;
    case Field::Kind::kLog: {
      std::int64_t before = micros_of(latest);
      out->put(field.entries.size());
      for (const LogEntry& entry : field.entries) {
        const std::int64_t at = micros_of(entry.at());
        out->put_signed(less(at, before));
        out->put(static_cast<std::uint64_t>(entry.units()));
        before = at;
      }
      break;
    }
    case Field::Kind::kHolds: {
      std::int64_t before = ns_of(latest);
      out->put(field.current);
      out->put(field.holds.size());
      for (const Hold& hold : field.holds) {
        out->put_word(hold.id.high);
        out->put_word(hold.id.low);
        out->put_signed(less(ns_of(hold.end), before));
        out->put(static_cast<std::uint64_t>(hold.units));
        before = ns_of(hold.end);
      }
      break;
    }
  }
}

void take_log(Instant latest, ByteReader* in, Field* field) {
  constexpr std::size_t kLeast = 2;  // bytes of an entry
  std::int64_t at = micros_of(latest);
  const std::size_t count = in->take_count(kLeast);
  field->entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    at = plus(at, in->take_signed());
    field->entries.emplace_back(at_micros(at), in->take_small());
  }
}

// Returns whether they are in order, and have units.
bool take_holds(Instant latest, ByteReader* in, Field* field) {
  constexpr std::size_t kLeast = 18;
  std::int64_t at = ns_of(latest);
  field->current = in->take_small();
  const std::size_t count = in->take_count(kLeast);
  if (count > kMaxHolds) return false;
  field->holds.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Hold hold;
    hold.id.high = in->take_word();
    hold.id.low = in->take_word();
    at = plus(at, in->take_signed());
    hold.end = at_ns(at);
    hold.units = in->take_small();
    if (hold.units == 0) return false;
    if (i > 0 && !ends_before(field->holds.back(), hold)) return false;
    field->holds.push_back(hold);
  }
  return true;
}

bool take_field(Instant latest, ByteReader* in, Field* field) {
  field->name = in->take_text();
  const std::uint64_t kind = in->take();
  if (in->failed() || kind > static_cast<std::uint64_t>(Field::Kind::kHolds)) {
    return false;
  }
  field->kind = static_cast<Field::Kind>(kind);
  if (field->kind == Field::Kind::kTat) {
    field->over = at_ns(plus(ns_of(latest), in->take_signed()));
    return !in->failed();
  }
  field->over = at_micros(plus(micros_of(latest), in->take_signed()));
  field->start = in->take_signed();
  switch (field->kind) {
    case Field::Kind::kTat:
      break;
    case Field::Kind::kCounts:
    case Field::Kind::kTail:
      field->current = in->take_small();
      field->previous = in->take_small();
      break;
    case Field::Kind::kLog:
      take_log(latest, in, field);
      break;
    case Field::Kind::kHolds:
      if (!take_holds(latest, in, field)) return false;
      break;
  }
  return !in->failed();
}

}  // namespace

std::size_t Item::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(fields, name, {}, &Field::name);
  return found != fields.end() && found->name == name
             ? static_cast<std::size_t>(found - fields.begin())
             : kNone;
}

Instant Item::over() const {
  Instant latest_over = kLongAgo;
  for (const Field& field : fields) {
    latest_over = std::max(latest_over, field.over);
  }
  return latest_over;
}

void encode(const Item& item, std::string* out) {
  ByteWriter writer(out);
  out->append(kMagic);
  out->push_back(kVersion);
  writer.put_signed(ns_of(item.latest));
  writer.put(item.writer);
  writer.put(item.fields.size());
  for (const Field& field : item.fields) {
    put_field(field, item.latest, &writer);
  }
}

const char* decode(std::string_view bytes, Item* item) {
  if (!bytes.starts_with(kMagic) || bytes.size() == kMagic.size()) {
    return "an item that is not limitree's";
  }
  bytes.remove_prefix(kMagic.size());
  if (bytes.front() != kVersion) return "an item of another version";
  bytes.remove_prefix(1);
  ByteReader in(bytes);
  item->latest = at_ns(in.take_signed());
  item->writer = in.take();
  constexpr std::size_t kLeast = 3;  // bytes of a field
  const std::size_t count = in.take_count(kLeast);
  if (in.failed() || count > kMaxFields) return "a damaged item";
  item->fields.resize(count);
  const Field* before = nullptr;
  for (Field& field : item->fields) {
    if (!take_field(item->latest, &in, &field)) return "a damaged item";
    if (before != nullptr && before->name >= field.name)
      return "a damaged item";
    before = &field;
  }
  return in.left() == 0 ? nullptr : "a damaged item";
}

}  // namespace limitree::memcached
