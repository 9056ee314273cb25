// How the path of a request is made from the fields of its log line.
//
// "route,{method},{path}" has three segments, split at commas; a name in
// braces stands for that field of access_log.hpp.  A backslash takes a comma,
// brace or backslash after it as it is.

#ifndef LIMITREE_CLI_PATH_TEMPLATE_HPP
#define LIMITREE_CLI_PATH_TEMPLATE_HPP

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access_log.hpp"
#include "limitree.h"

namespace limitree::cli {

class PathTemplate {
 public:
  // Throws UsageError, which quotes `text`, if it is no template.
  explicit PathTemplate(std::string_view text);

  // The first segment, where it is the same for every request.
  std::optional<std::string_view> root() const;

  // Sets path() to that of `request`, whose bytes it borrows.  Allocates only
  // while its buffers still grow.
  void fill(const LogRequest& request);

  const std::vector<limitree_str>& path() const { return path_; }

  // Appends path() in the template's own syntax to *text: "ip,192.0.2.7".
  void append_text(std::string* text) const;

 private:
  // Literal text, and then a field if there is one.
  struct Piece {
    std::string literal;
    std::optional<Field> field;
  };
  struct Segment {
    std::vector<Piece> pieces;  // never empty
    std::string joined;         // of several pieces, for the last request
  };

  void append_segment(std::string_view text, std::size_t* at);

  std::vector<Segment> segments_;
  std::vector<limitree_str> path_;
};

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_PATH_TEMPLATE_HPP
