// Reads the "common" and "combined" formats of Apache and nginx, and ignores
// everything after the user agent.  The results are views of the bytes of the
// line as they were logged: nothing is unescaped, copied or allocated.

#include <algorithm>

#include "log_values.hpp"

namespace limitree::cli {

namespace {

constexpr std::string_view kNone = "-";
constexpr std::size_t kTimeSize = LogTime::kCommonSize;

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

// Splits the part after the request: ' 200 512 "referer" "user agent"'. The
// common format has only the first two fields.
const char* split_response(std::string_view* rest, LogRequest* request) {
  if (!rest->starts_with(' ')) return "no blank after the request";
  rest->remove_prefix(1);
  const std::string_view at_status = *rest;
  const std::optional<std::string_view> status = cut(rest, ' ');
  if (!status) return "no status and size after the request";
  if (status->size() != 3 || !all_digits(*status)) {
    *rest = at_status;
    return "the status is not a number of three digits";
  }
  (*request)[Field::kStatus] = *status;
  const std::size_t end = std::min(rest->find(' '), rest->size());
  const std::string_view bytes = rest->substr(0, end);
  if (bytes != kNone && !all_digits(bytes)) return "the size is not a number";
  (*request)[Field::kBytes] = bytes;
  rest->remove_prefix(end);
  for (const Field field : {Field::kReferer, Field::kUserAgent}) {
    (*request)[field] = kNone;
    if (!rest->starts_with(" \"")) continue;
    rest->remove_prefix(1);
    const std::optional<std::string_view> text = cut_quoted(rest);
    if (!text) {
      return field == Field::kReferer ? "the referer has no closing quote"
                                      : "the user agent has no closing quote";
    }
    (*request)[field] = *text;
  }
  return nullptr;
}

class AccessLog : public LogFormat {
 public:
  std::optional<LineMistake> parse(std::string_view line,
                                   LogRequest* request) override;

 private:
  // Parses what is left of a line off *rest, which then begins where a mistake
  // is.
  const char* parse_rest(std::string_view* rest, LogRequest* request);

  LogTime time_;
};

std::optional<LineMistake> AccessLog::parse(std::string_view line,
                                            LogRequest* request) {
  std::string_view rest = line;
  const char* const reason = parse_rest(&rest, request);
  if (reason == nullptr) return std::nullopt;
  return LineMistake{reason, line.size() - rest.size() + 1};
}

const char* AccessLog::parse_rest(std::string_view* rest, LogRequest* request) {
  if (rest->empty()) return "the line is empty";
  if (rest->front() == ' ') return "no address at the start";
  const std::optional<std::string_view> address = cut(rest, ' ');
  if (!address) return "no address at the start";
  (*request)[Field::kRemoteAddr] = *address;
  if (!cut(rest, ' ')) return "no user name after the address";

  // A user name may contain blanks and brackets; the time ends it.
  std::size_t open = rest->find('[');
  for (;; open = rest->find('[', open + 1)) {
    if (open == std::string_view::npos) return "no [time] in brackets";
    const std::string_view from = rest->substr(open);
    if (from.size() > kTimeSize + 1 && from[kTimeSize + 1] == ']') break;
  }
  if (open < 2 || (*rest)[open - 1] != ' ') {
    return "no user name after the address";
  }
  (*request)[Field::kRemoteUser] = rest->substr(0, open - 1);
  rest->remove_prefix(open + 1);
  if (!time_.parse_common(rest->substr(0, kTimeSize), request)) {
    return "the time is not like 17/May/2015:10:05:03 +0000";
  }
  rest->remove_prefix(kTimeSize + 1);

  if (!rest->starts_with(" \"")) return "no quoted request after the time";
  rest->remove_prefix(1);
  const std::optional<std::string_view> text = cut_quoted(rest);
  if (!text) return "the request has no closing quote";
  split_request(*text, request);
  return split_response(rest, request);
}

}  // namespace

std::unique_ptr<LogFormat> make_access_log() {
  return std::make_unique<AccessLog>();
}

}  // namespace limitree::cli
