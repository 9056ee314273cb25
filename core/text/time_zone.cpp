#include "text/time_zone.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "text/problems.hpp"
#include "text/text_file.hpp"

namespace limitree {

namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year;

constexpr std::int64_t kDaySeconds = 86'400;
constexpr int kLastYear = 2200;
constexpr std::size_t kMaxFile = std::size_t{1} << 20;

Status broken() {
  return invalid_config("is not a file in the format of RFC 8536");
}

// Takes `size` bytes off the front of *bytes; nothing if there are fewer.
std::optional<std::string_view> take(std::size_t size,
                                     std::string_view* bytes) {
  if (size > bytes->size()) return std::nullopt;
  const std::string_view taken = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return taken;
}

// A signed big-endian number of at most 8 bytes.
std::int64_t number_of(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  const unsigned unused = static_cast<unsigned>(64 - 8 * bytes.size());
  return static_cast<std::int64_t>(value << unused) >> unused;
}

// One of the two blocks of a file: the first has times of 32 bits.
struct Block {
  std::size_t ut, std, leaps, count, types, chars;
  std::string_view times;    // `count` of them
  std::string_view kinds;    // of each time: index of its type
  std::string_view offsets;  // of each type, and two bytes more
};

std::optional<Block> take_block(std::size_t time_size,
                                std::string_view* bytes) {
  const auto head = take(20, bytes);
  if (!head || !head->starts_with("TZif") || (*head)[4] < '2') {
    return std::nullopt;
  }
  Block block{};
  for (std::size_t* field : {&block.ut, &block.std, &block.leaps, &block.count,
                             &block.types, &block.chars}) {
    const auto number = take(4, bytes);
    // A negative number becomes a large one.
    *field = static_cast<std::size_t>(number ? number_of(*number) : -1);
    if (*field > kMaxFile) return std::nullopt;
  }
  const auto times = take(block.count * time_size, bytes);
  const auto kinds = take(block.count, bytes);
  const auto offsets = take(block.types * 6, bytes);
  const std::size_t rest =
      block.chars + block.leaps * (time_size + 4) + block.std + block.ut;
  if (!times || !kinds || !offsets || !take(rest, bytes)) return std::nullopt;
  block.times = *times;
  block.kinds = *kinds;
  block.offsets = *offsets;
  return block;
}

// The rule after the last transition: "CET-1CEST,M3.5.0,M10.5.0/3".
class FooterReader {
 public:
  explicit FooterReader(std::string_view text) : text_(text) {}

  // Appends the offsets from `last` on.  False if the rule is malformed.
  bool read(std::int64_t last, std::vector<ZoneOffset>* offsets);

 private:
  struct Date {
    char kind = 'M';  // 'M', 'J' or '0'
    int month = 0, week = 0, day = 0;
    std::int64_t time = 2 * 3600;  // after midnight

    std::int64_t in(int year) const;  // seconds of local time since 1970
  };

  bool skip(char c);
  bool name();
  bool number(int* value);
  bool time(std::int64_t* seconds);  // [+-]h[:m[:s]]
  bool date(Date* date);

  std::string_view text_;
};

bool FooterReader::skip(char c) {
  if (!text_.starts_with(c)) return false;
  text_.remove_prefix(1);
  return true;
}

bool FooterReader::name() {
  std::size_t size = 0;
  if (text_.starts_with('<')) {
    size = text_.find('>');
    if (size == text_.npos) return false;
    ++size;
  } else {
    size = std::min(text_.find_first_of("0123456789+-,"), text_.size());
  }
  text_.remove_prefix(size);
  return size >= 3;
}

bool FooterReader::number(int* value) {
  std::size_t size = 0;
  *value = 0;
  while (size < text_.size() && size < 4 && text_[size] >= '0' &&
         text_[size] <= '9') {
    *value = *value * 10 + (text_[size++] - '0');
  }
  text_.remove_prefix(size);
  return size > 0;
}

bool FooterReader::time(std::int64_t* seconds) {
  const bool negative = text_.starts_with('-');
  if (!skip('-')) skip('+');
  *seconds = 0;
  for (const int unit : {3600, 60, 1}) {
    int value = 0;
    if (unit != 3600 && !skip(':')) break;
    if (!number(&value)) return false;
    *seconds += std::int64_t{value} * unit;
  }
  if (negative) *seconds = -*seconds;
  return true;
}

bool FooterReader::date(Date* date) {
  if (!skip(',')) return false;
  bool read = false;
  if (skip('M')) {
    read = number(&date->month) && skip('.') && number(&date->week) &&
           skip('.') && number(&date->day) && date->month >= 1 &&
           date->month <= 12 && date->week >= 1 && date->week <= 5 &&
           date->day <= 6;
  } else {
    date->kind = skip('J') ? 'J' : '0';
    read = number(&date->day) && date->day <= 365 &&
           (date->kind == '0' || date->day > 0);
  }
  return read && (!skip('/') || time(&date->time));
}

std::int64_t FooterReader::Date::in(int number) const {
  const year in(number);
  sys_days at = in / 1 / 1;
  if (kind == '0') {
    at += days(day);
  } else if (kind == 'J') {  // 1 is January 1, and February 29 has no number
    at += days(day - 1 + (in.is_leap() && day >= 60 ? 1 : 0));
  } else {
    const auto of = in / std::chrono::month(static_cast<unsigned>(month));
    const std::chrono::weekday weekday(static_cast<unsigned>(day));
    at = week == 5 ? sys_days(of / weekday[std::chrono::last])
                   : sys_days(of / weekday[static_cast<unsigned>(week)]);
  }
  return at.time_since_epoch().count() * kDaySeconds + time;
}

bool FooterReader::read(std::int64_t last, std::vector<ZoneOffset>* offsets) {
  std::int64_t west = 0;  // of standard time; the format counts westwards
  if (!name() || !time(&west)) return false;
  const auto standard = static_cast<std::int32_t>(-west);
  if (text_.empty()) {
    offsets->push_back({last, standard});
    return true;
  }
  std::int64_t summer_west = west - 3600;
  if (!name()) return false;
  if (!text_.starts_with(',') && !time(&summer_west)) return false;
  Date to_summer;
  Date to_standard;
  if (!date(&to_summer) || !date(&to_standard) || !text_.empty()) return false;

  const auto summer = static_cast<std::int32_t>(-summer_west);
  std::vector<ZoneOffset> all;
  for (int year = 1969; year <= kLastYear; ++year) {
    all.push_back({to_summer.in(year) + west, summer});
    all.push_back({to_standard.in(year) + summer_west, standard});
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.from < b.from; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].from > last) offsets->push_back(all[i]);
    // The offset in force when the rule begins.
    const bool holds =
        all[i].from <= last && i + 1 < all.size() && all[i + 1].from > last;
    if (holds) offsets->push_back({last, all[i].seconds});
  }
  return true;
}

bool is_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
  return !name.empty() && name.size() < 100 && name.front() != '/' &&
         name.back() != '/' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos &&
         name.find("//") == std::string_view::npos;
}

std::string path_of(std::string_view name) {
  const char* const folder = std::getenv("TZDIR");
  std::string path = folder != nullptr ? folder : "/usr/share/zoneinfo";
  path += '/';
  path += name;
  return path;
}

// A file of the database as it once was.
struct CachedZone {
  std::string path;
  std::filesystem::file_time_type written;
  ZoneOffsets offsets;
  const CachedZone* next;
};

// Entries are only added, in front of the others with the same hash.  So there
// is no lock, which another thread could hold while the process forks.
constexpr std::size_t kMaxCachedZones = 4096;
std::array<std::atomic<const CachedZone*>, 256> cached_zones;
std::atomic<std::size_t> cached_zone_count;

void cache_zone(std::unique_ptr<CachedZone> zone,
                std::atomic<const CachedZone*>* first) {
  if (cached_zone_count.fetch_add(1) >= kMaxCachedZones) {
    cached_zone_count.fetch_sub(1);
    return;
  }
  zone->next = first->load();
  while (!first->compare_exchange_weak(zone->next, zone.get())) continue;
  (void)zone.release();
}

}  // namespace

Result<std::vector<ZoneOffset>> parse_time_zone(std::string_view bytes) {
  const bool has_old = take_block(4, &bytes).has_value();
  const std::optional<Block> block =
      has_old ? take_block(8, &bytes) : std::nullopt;
  if (!block || block->types == 0) return broken();
  const auto offset = [&block](std::size_t type) {
    return static_cast<std::int32_t>(
        number_of(block->offsets.substr(6 * type, 4)));
  };
  std::vector<ZoneOffset> offsets = {{INT64_MIN / 2, offset(0)}};
  for (std::size_t i = 0; i < block->count; ++i) {
    const std::int64_t from = number_of(block->times.substr(8 * i, 8));
    const auto type = static_cast<unsigned char>(block->kinds[i]);
    if (type >= block->types) return broken();
    if (from > offsets.back().from) offsets.push_back({from, offset(type)});
  }
  std::string_view footer = bytes;
  if (footer.size() < 2 || footer.front() != '\n' || footer.back() != '\n') {
    return broken();
  }
  footer = footer.substr(1, footer.size() - 2);
  if (!footer.empty() &&
      !FooterReader(footer).read(offsets.back().from, &offsets)) {
    return broken();
  }
  return offsets;
}

Result<std::vector<ZoneOffset>> load_time_zone(std::string_view name) {
  if (name == "UTC") return std::vector<ZoneOffset>{{INT64_MIN / 2, 0}};
  if (!is_name(name)) {
    return invalid_config("must be a name such as Europe/Berlin, is " +
                          quote(name));
  }
  const std::string path = path_of(name);
  const Result<std::string> bytes = read_file(path, kMaxFile);
  if (!bytes.ok()) {
    return invalid_config("is not in the system's database: " + quote(name));
  }
  Result<std::vector<ZoneOffset>> offsets = parse_time_zone(bytes.value());
  if (!offsets.ok()) return invalid_config("cannot be read: " + quote(path));
  return offsets;
}

Result<ZoneOffsets> shared_time_zone(std::string_view name) {
  if (!is_name(name)) return std::move(load_time_zone(name).status());
  CachedZone zone{path_of(name), {}, nullptr, nullptr};
  std::atomic<const CachedZone*>& first =
      cached_zones[std::hash<std::string>()(zone.path) % cached_zones.size()];
  std::error_code error;
  zone.written = std::filesystem::last_write_time(zone.path, error);
  for (const CachedZone* one = first; one != nullptr; one = one->next) {
    if (one->path == zone.path && one->written == zone.written) {
      return one->offsets;
    }
  }
  Result<std::vector<ZoneOffset>> read = load_time_zone(name);
  if (!read.ok()) return std::move(read.status());
  zone.offsets =
      std::make_shared<const std::vector<ZoneOffset>>(std::move(read.value()));
  ZoneOffsets offsets = zone.offsets;
  cache_zone(std::make_unique<CachedZone>(std::move(zone)), &first);
  return offsets;
}

}  // namespace limitree
