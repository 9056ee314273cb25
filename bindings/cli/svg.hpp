// A picture as SVG text: what the pictures of `limitree simulate` share.

#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace limitree::cli {

// Coordinates are pixels.  `kind` is a class of the style sheet: name, small,
// offered, admitted, limit, line, grid, axis, and those that `styles` adds.
class Svg {
 public:
  Svg(double width, double height, std::string_view styles = "") {
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
            number(width) + "\" height=\"" + number(height) +
            "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
            "\">\n<style>\n"
            "text{font:13px system-ui,sans-serif;fill:#333}\n"
            ".name{font-weight:600}\n.small{font-size:11px;fill:#666}\n"
            ".offered{fill:#d9d9d9}\n.admitted{fill:#3b7dd8}\n"
            ".limit{stroke:#c0392b;stroke-dasharray:5 4;fill:none}\n"
            ".line{stroke:#1b3a66;stroke-width:1.5;fill:none}\n"
            ".grid{stroke:#eee}\n.axis{stroke:#999}\n" +
            std::string(styles) +
            "</style>\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  }

  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
  }

  void write(double x, double y, std::string_view kind,
             std::string_view words) {
    text_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" +
             std::string(kind) + "\">" + escaped(words) + "</text>\n";
  }

  void line(double x1, double y1, double x2, double y2, std::string_view kind) {
    text_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" +
             number(x2) + "\" y2=\"" + number(y2) + "\" class=\"" +
             std::string(kind) + "\"/>\n";
  }
  void square(double x, double y, double side, std::string_view kind) {
    text_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
             number(side) + "\" height=\"" + number(side) + "\" class=\"" +
             std::string(kind) + "\"/>\n";
  }
  // `steps` is what the attribute `d` has: see bar() and point().
  void path(std::string_view kind, std::string_view steps) {
    text_ += "<path class=\"" + std::string(kind) + "\" d=\"" +
             std::string(steps) + "\"/>\n";
  }

  // Appends a bar, or the next point of a line, to the steps of a path.
  static void bar(double left, double right, double top, double bottom,
                  std::string* steps) {
    *steps += "M" + number(left) + " " + number(bottom) + "V" + number(top) +
              "H" + number(right) + "V" + number(bottom) + "Z";
  }
  static void point(double x, double y, std::string* steps) {
    *steps += (steps->empty() ? "M" : "L") + number(x) + " " + number(y);
  }

  // `words` without what XML takes for markup.
  static std::string escaped(std::string_view words) {
    std::string text;
    for (const char c : words) {
      text += c == '&'   ? "&amp;"
              : c == '<' ? "&lt;"
              : c == '>' ? "&gt;"
                         : std::string(1, c);
    }
    return text;
  }

  std::string finish() && { return std::move(text_) + "</svg>\n"; }

 private:
  std::string text_;
};

}  // namespace limitree::cli
