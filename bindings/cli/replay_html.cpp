// The result of a replay as one page, which requests nothing.
//
// The page is report/report.html with the style sheets and scripts in it, all
// of them known when this is built, so that its policy names them by hash. What
// comes from the log is JSON in an element that browsers do not run.

#include <string>
#include <string_view>

#include "findings.hpp"

namespace limitree::cli {

namespace {

constexpr char kPage[] = {
#include "report_page.inc"
};

constexpr std::string_view kPlace = "@DATA@";

// No text can end the element: `json` is ASCII, and these characters occur only
// within its strings.
std::string escaped(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace

std::string replay_html(const Findings& found) {
  const std::string_view page(kPage, sizeof kPage);
  const std::size_t place = page.find(kPlace);
  return std::string(page.substr(0, place)) + escaped(report_data(found)) +
         std::string(page.substr(place + kPlace.size()));
}

}  // namespace limitree::cli
