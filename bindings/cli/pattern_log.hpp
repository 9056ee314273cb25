// Reads lines that a `log_format` of nginx describes:
//
//   $remote_addr - [$time_local] "$request" $status
//
// Each value ends where the text after its variable begins for the first time.
// Within quotes, a quote after an odd number of backslashes is part of a value.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log_request.hpp"
#include "log_values.hpp"

namespace limitree::cli {

class PatternLog : public LogFormat {
 public:
  // Adds the fields of `pattern` to *fields.  `open`: lines may go on.  Throws
  // UsageError, with the column of the mistake, if it is not a log_format.
  PatternLog(std::string_view pattern, bool open, LogFields* fields);

  std::optional<LineMistake> parse(std::string_view line,
                                   LogRequest* request) override;

 private:
  struct Part {
    std::string before;  // literal text
    std::string name;
    Slot slot;
  };

  void add_part(std::string_view name, std::string before, LogFields* fields);
  LineMistake mistake(std::string reason, std::size_t at);

  std::vector<Part> parts_;
  std::string after_;  // literal text at the end
  bool open_;
  std::string reason_;
  LogValues values_;
};

// Lines of the Application Load Balancer of AWS.
inline constexpr std::string_view kAlbPattern =
    "$type $time $elb $remote_addr_port $target_addr $t1 $t2 $t3 $status "
    "$target_status $received_bytes $bytes \"$url_request\" "
    "\"$http_user_agent\" ";

}  // namespace limitree::cli
