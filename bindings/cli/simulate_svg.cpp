// The picture of `limitree simulate`: a panel for each algorithm, all with the
// same time axis.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "format.hpp"
#include "simulate.hpp"

namespace limitree::cli {

namespace {

constexpr double kWidth = 900;
constexpr double kLeft = 150;
constexpr double kRight = 20;
constexpr double kTop = 92;
constexpr double kPanel = 84;
constexpr double kGap = 30;
constexpr std::int64_t kBinsPerPeriod = 20;
constexpr double kAxis = 2.2;  // in counts, at the top of a panel

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

class Picture {
 public:
  explicit Picture(const Simulation& simulation) : simulation_(simulation) {}

  std::string draw() {
    const double height =
        kTop +
        (kPanel + kGap) * static_cast<double>(simulation_.algorithms.size());
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
            number(kWidth) + "\" height=\"" + number(height) +
            "\" viewBox=\"0 0 " + number(kWidth) + " " + number(height) +
            "\">\n<style>\n"
            "text{font:13px system-ui,sans-serif;fill:#333}\n"
            ".name{font-weight:600}\n.small{font-size:11px;fill:#666}\n"
            ".offered{fill:#d9d9d9}\n.admitted{fill:#3b7dd8}\n"
            ".limit{stroke:#c0392b;stroke-dasharray:5 4;fill:none}\n"
            ".line{stroke:#1b3a66;stroke-width:1.5;fill:none}\n"
            ".grid{stroke:#eee}\n.axis{stroke:#999}\n</style>\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    header();
    double top = kTop;
    for (const Simulated& one : simulation_.algorithms) {
      panel(one, top);
      top += kPanel + kGap;
    }
    return text_ += "</svg>\n";
  }

 private:
  double x(std::int64_t at_ns) const {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(at_ns) /
                       static_cast<double>(simulation_.length_ns);
  }
  double y(double top, double units) const {
    const double share =
        std::min(units / static_cast<double>(simulation_.count), kAxis);
    return top + kPanel * (1 - share / kAxis);
  }

  void write(double at_x, double at_y, const std::string& kind,
             const std::string& words) {
    text_ += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) +
             "\" class=\"" + kind + "\">" + words + "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2,
            const std::string& kind) {
    text_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" +
             number(x2) + "\" y2=\"" + number(y2) + "\" class=\"" + kind +
             "\"/>\n";
  }

  void header() {
    write(20, 28, "name",
          std::to_string(simulation_.count) + " requests per " +
              duration_text(simulation_.period_ns) +
              ": what each algorithm admits of the same traffic");
    double at = 20;
    for (const auto& [kind, words] :
         {std::pair("offered", "offered"), std::pair("admitted", "admitted")}) {
      text_ += "<rect x=\"" + number(at) +
               "\" y=\"44\" width=\"12\" height=\"12\" class=\"" + kind +
               "\"/>\n";
      write(at + 18, 54, "small",
            std::string(words) + " per " +
                duration_text(simulation_.period_ns / kBinsPerPeriod));
      at += 150;
    }
    line(at, 50, at + 24, 50, "line");
    write(at + 30, 54, "small", "admitted in the period that ends then");
    line(at + 250, 50, at + 274, 50, "limit");
    write(at + 280, 54, "small", "the limit");
  }

  // Draws a bar for each part of the time.
  void bars(const std::vector<std::int64_t>& times, double top,
            const std::string& kind) {
    const std::int64_t bin_ns = simulation_.period_ns / kBinsPerPeriod;
    std::string path;
    std::size_t i = 0;
    for (std::int64_t from = 0; from < simulation_.length_ns; from += bin_ns) {
      double units = 0;
      for (; i < times.size() && times[i] < from + bin_ns; ++i) units += 1;
      if (units == 0) continue;
      path += "M" + number(x(from)) + " " + number(y(top, 0)) + "V" +
              number(y(top, units)) + "H" + number(x(from + bin_ns) - 0.6) +
              "V" + number(y(top, 0)) + "Z";
    }
    text_ += "<path class=\"" + kind + "\" d=\"" + path + "\"/>\n";
  }

  // Draws how many were admitted within the period before each time.
  void trailing(const std::vector<std::int64_t>& times, double top) {
    const std::int64_t step_ns = simulation_.period_ns / 100;
    std::string path;
    std::size_t first = 0;
    std::size_t last = 0;
    for (std::int64_t at = 0; at <= simulation_.length_ns; at += step_ns) {
      while (last < times.size() && times[last] <= at) ++last;
      while (first < last && times[first] <= at - simulation_.period_ns) {
        ++first;
      }
      path += (path.empty() ? "M" : "L") + number(x(at)) + " " +
              number(y(top, static_cast<double>(last - first)));
    }
    text_ += "<path class=\"line\" d=\"" + path + "\"/>\n";
  }

  void panel(const Simulated& one, double top) {
    for (std::int64_t at = 0; at <= simulation_.length_ns;
         at += simulation_.period_ns) {
      line(x(at), top, x(at), top + kPanel, "grid");
      write(x(at) - 8, top + kPanel + 14, "small",
            at == 0 ? "0" : duration_text(at));
    }
    bars(simulation_.offered_ns, top, "offered");
    bars(one.admitted_ns, top, "admitted");
    const double limit = static_cast<double>(simulation_.count);
    line(kLeft, y(top, limit), kWidth - kRight, y(top, limit), "limit");
    trailing(one.admitted_ns, top);
    line(kLeft, top + kPanel, kWidth - kRight, top + kPanel, "axis");
    write(kLeft - 28, y(top, limit) + 4, "small",
          std::to_string(simulation_.count));
    write(kLeft - 28, y(top, 2 * limit) + 4, "small",
          std::to_string(2 * simulation_.count));
    write(8, top + 16, "name", one.name);
    write(8, top + 34, "small",
          std::to_string(one.admitted_ns.size()) + " of " +
              std::to_string(simulation_.offered_ns.size()));
    write(8, top + 50, "small",
          "at most " + std::to_string(one.most_in_a_period));
  }

  const Simulation& simulation_;
  std::string text_;
};

}  // namespace

std::string draw(const Simulation& simulation) {
  return Picture(simulation).draw();
}

}  // namespace limitree::cli
