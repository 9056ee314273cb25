// Reads the "common" and "combined" formats of Apache and nginx, and ignores
// everything after the user agent.  The results are views of the bytes of the
// line as they were logged: nothing is unescaped, copied or allocated.

#pragma once

#include <optional>
#include <string_view>

#include "log_request.hpp"
#include "log_time.hpp"

namespace limitree::cli {

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

}  // namespace limitree::cli
