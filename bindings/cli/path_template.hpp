// Makes the path of a request from the fields of its log line.
//
// "route,{method},{path}" has three segments, split at commas.  A name in
// braces stands for that field of log_request.hpp.  A backslash before a comma,
// a brace or a backslash makes it literal.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.h"
#include "log_request.hpp"

namespace limitree::cli {

class PathTemplate {
 public:
  // Throws UsageError, which quotes `text`, if it is not a template with these
  // fields.
  explicit PathTemplate(std::string_view text,
                        const LogFields& fields = LogFields::common());

  // The first segment, if it is the same for every request.
  std::optional<std::string_view> root() const;

  // Names of limits.yaml for the segments: a field is any text, so "*".
  std::vector<std::string> patterns() const;

  // Sets path() for `request`, whose bytes it borrows.  Allocates only while
  // its buffers grow.
  void fill(const LogRequest& request);

  const std::vector<limitree_str>& path() const { return path_; }

  // Appends path() in the syntax of the template to *text: "ip,192.0.2.7".
  void append_text(std::string* text) const;

 private:
  // Literal text, then a field if there is one.
  struct Piece {
    std::string literal;
    std::optional<Field> field;
  };
  struct Segment {
    std::vector<Piece> pieces;  // never empty
    std::string joined;         // several pieces joined, for the last request
  };

  void append_segment(std::string_view text, const LogFields& fields,
                      std::size_t* at);

  std::vector<Segment> segments_;
  std::vector<limitree_str> path_;
};

}  // namespace limitree::cli
