#include "access_log.hpp"

#include <algorithm>
#include <chrono>

namespace limitree::cli {

namespace {

constexpr std::string_view kNone = "-";
constexpr std::size_t kTimeSize = 26;  // 17/May/2015:10:05:03 +0000

constexpr std::array<std::string_view, kFieldCount> kFieldNames = {
    "remote_addr", "remote_user", "method", "path",    "query",     "target",
    "protocol",    "status",      "bytes",  "referer", "user_agent"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Cuts the part before the next `mark` off *rest, and the mark with it.
// Without a mark *rest stays as it is.
std::optional<std::string_view> cut(std::string_view* rest, char mark) {
  const std::size_t end = rest->find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(end + 1);
  return part;
}

// Cuts a quoted text off *rest, which begins with its '"'. A quote after an odd
// number of backslashes is part of the text.
std::optional<std::string_view> cut_quoted(std::string_view* rest) {
  std::size_t end = 0;
  for (;;) {
    end = rest->find('"', end + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::size_t escapes = 0;
    while ((*rest)[end - 1 - escapes] == '\\') ++escapes;
    if (escapes % 2 == 0) break;
  }
  const std::string_view text = rest->substr(1, end - 1);
  rest->remove_prefix(end + 1);
  return text;
}

// The number in `text`, or -1 if `text` is not all digits.
int number(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// 1 for "Jan"; 0 if `name` is not a month.
unsigned month_of(std::string_view name) {
  static constexpr std::string_view kMonths =
      "JanFebMarAprMayJunJulAugSepOctNovDec";
  for (std::size_t i = 0; i < kMonths.size(); i += 3) {
    if (kMonths.substr(i, 3) == name) return static_cast<unsigned>(i / 3 + 1);
  }
  return 0;
}

// Seconds since 1970 of "17/May/2015:10:05:03", as if it were UTC.
std::optional<std::int64_t> local_seconds(std::string_view text) {
  if (text[2] != '/' || text[6] != '/' || text[11] != ':' || text[14] != ':' ||
      text[17] != ':') {
    return std::nullopt;
  }
  const int day = number(text.substr(0, 2));
  const unsigned month = month_of(text.substr(3, 3));
  const int year = number(text.substr(7, 4));
  const int hour = number(text.substr(12, 2));
  const int minute = number(text.substr(15, 2));
  const int second = number(text.substr(18, 2));
  if (day < 1 || month == 0 || year < 0 || hour < 0 || hour > 23 ||
      minute < 0 || minute > 59 || second < 0 || second > 60) {  // 60: leap
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year(year), std::chrono::month(month),
      std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::int64_t{86'400} *
             std::chrono::sys_days(date).time_since_epoch().count() +
         hour * 3600 + minute * 60 + second;
}

// The seconds east of Greenwich in "+0130".
std::optional<std::int32_t> offset_seconds(std::string_view text) {
  const int hours = number(text.substr(1, 2));
  const int minutes = number(text.substr(3, 2));
  if ((text[0] != '+' && text[0] != '-') || hours < 0 || hours > 23 ||
      minutes < 0 || minutes > 59) {
    return std::nullopt;
  }
  const std::int32_t size = hours * 3600 + minutes * 60;
  return text[0] == '-' ? -size : size;
}

bool is_method(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '-' || c == '_';
         });
}

// Splits "GET /index.html?a=b HTTP/1.1".
void split_request(std::string_view text, LogRequest* request) {
  for (const Field field : {Field::kMethod, Field::kPath, Field::kQuery,
                            Field::kTarget, Field::kProtocol}) {
    (*request)[field] = kNone;
  }
  const std::optional<std::string_view> method = cut(&text, ' ');
  if (!method || !is_method(*method)) return;
  // A target may contain blanks that a client did not encode.
  const std::size_t last = text.rfind(' ');
  std::string_view target = text;
  if (last != std::string_view::npos &&
      text.substr(last + 1).starts_with("HTTP/")) {
    (*request)[Field::kProtocol] = text.substr(last + 1);
    target = text.substr(0, last);
  }
  if (target.empty()) return;
  (*request)[Field::kMethod] = *method;
  (*request)[Field::kTarget] = target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  (*request)[Field::kPath] = target.substr(0, mark);
  (*request)[Field::kQuery] = target.substr(std::min(mark + 1, target.size()));
}

// Splits the part after the request: ' 200 512 "referer" "user agent"'. The
// common format has only the first two fields.
const char* split_response(std::string_view rest, LogRequest* request) {
  if (!rest.starts_with(' ')) return "no blank after the request";
  rest.remove_prefix(1);
  const std::optional<std::string_view> status = cut(&rest, ' ');
  if (!status) return "no status and size after the request";
  if (status->size() != 3 || !all_digits(*status)) {
    return "the status is not a number of three digits";
  }
  (*request)[Field::kStatus] = *status;
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view bytes = rest.substr(0, end);
  if (bytes != kNone && !all_digits(bytes)) return "the size is not a number";
  (*request)[Field::kBytes] = bytes;
  rest.remove_prefix(end);
  for (const Field field : {Field::kReferer, Field::kUserAgent}) {
    (*request)[field] = kNone;
    if (!rest.starts_with(" \"")) continue;
    rest.remove_prefix(1);
    const std::optional<std::string_view> text = cut_quoted(&rest);
    if (!text) {
      return field == Field::kReferer ? "the referer has no closing quote"
                                      : "the user agent has no closing quote";
    }
    (*request)[field] = *text;
  }
  return nullptr;
}

}  // namespace

std::string_view field_name(Field field) {
  return kFieldNames[static_cast<std::size_t>(field)];
}

std::optional<Field> field_of(std::string_view name) {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    if (kFieldNames[i] == name) return static_cast<Field>(i);
  }
  return std::nullopt;
}

bool AccessLog::parse_time(std::string_view text, LogRequest* request) {
  if (text != last_text_) {
    const std::optional<std::int64_t> local = local_seconds(text);
    const std::optional<std::int32_t> offset =
        offset_seconds(text.substr(kTimeSize - 5));
    if (!local || !offset || text[kTimeSize - 6] != ' ') return false;
    last_text_ = text;
    last_unix_s_ = *local - *offset;
    last_utc_offset_s_ = *offset;
  }
  request->unix_s = last_unix_s_;
  request->utc_offset_s = last_utc_offset_s_;
  return true;
}

const char* AccessLog::parse(std::string_view line, LogRequest* request) {
  std::string_view rest = line;
  const std::optional<std::string_view> address = cut(&rest, ' ');
  if (!address || address->empty()) {
    return line.empty() ? "the line is empty" : "no address at the start";
  }
  (*request)[Field::kRemoteAddr] = *address;
  if (!cut(&rest, ' ')) return "no user name after the address";

  // A user name may contain blanks and brackets; the time ends it.
  std::size_t open = rest.find('[');
  for (;; open = rest.find('[', open + 1)) {
    if (open == std::string_view::npos) return "no [time] in brackets";
    const std::string_view from = rest.substr(open);
    if (from.size() > kTimeSize + 1 && from[kTimeSize + 1] == ']') break;
  }
  if (open < 2 || rest[open - 1] != ' ') {
    return "no user name after the address";
  }
  (*request)[Field::kRemoteUser] = rest.substr(0, open - 1);
  if (!parse_time(rest.substr(open + 1, kTimeSize), request)) {
    return "the time is not like 17/May/2015:10:05:03 +0000";
  }
  rest.remove_prefix(open + kTimeSize + 2);

  if (!rest.starts_with(" \"")) return "no quoted request after the time";
  rest.remove_prefix(1);
  const std::optional<std::string_view> text = cut_quoted(&rest);
  if (!text) return "the request has no closing quote";
  split_request(*text, request);
  return split_response(rest, request);
}

}  // namespace limitree::cli
