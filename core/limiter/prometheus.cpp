// Statistics in the text format that Prometheus reads (version 0.0.4).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "limiter/counters.hpp"
#include "text/number.hpp"

namespace limitree {

namespace {

void append_escaped(std::string_view text, std::string* out) {
  for (const char c : text) {
    if (c == '\\' || c == '"') *out += '\\';
    if (c == '\n') {
      *out += "\\n";
    } else {
      *out += c;
    }
  }
}

void append_label(std::string_view name, std::string_view value,
                  std::string* labels) {
  labels->append(labels->empty() ? "" : ",").append(name).append("=\"");
  append_escaped(value, labels);
  *labels += '"';
}

void append_sample(std::string_view name, const std::string& labels,
                   const std::string& value, std::string* text) {
  text->append(name);
  if (!labels.empty()) text->append("{").append(labels).append("}");
  text->append(" ").append(value).append("\n");
}

bool is_histogram(const Counter& counter) {
  return counter.scope == CounterScope::kRoundTrips;
}

// `rows` are counters of one family, which a label tells apart.
void append_samples(std::span<const Counter> rows, const CounterValues& values,
                    std::string* text) {
  const Counter& first = rows.front();
  const std::string name =
      std::string(first.family) + (is_histogram(first) ? "_bucket" : "");
  for (std::size_t i = 0; i < value_count(values, first.scope); ++i) {
    std::string label;
    if (*label_name(first.scope) != '\0') {
      append_label(label_name(first.scope), label_of(values, first.scope, i),
                   &label);
    }
    for (const Counter& row : rows) {
      const std::int64_t value = row.value(values, i);
      // Only reasons that were met have samples.
      if (row.scope == CounterScope::kReasons && value == 0) continue;
      std::string labels = label;
      if (rows.size() > 1) append_label("answer", row.name, &labels);
      append_sample(name, labels, std::to_string(value), text);
    }
  }
  if (!is_histogram(first)) return;
  const StoreStats& store = values.stats.store;
  const auto last = value_count(values, first.scope) - 1;
  append_sample(std::string(first.family) + "_sum", "",
                seconds_text(Duration(store.round_trip_ns)), text);
  append_sample(std::string(first.family) + "_count", "",
                std::to_string(first.value(values, last)), text);
}

}  // namespace

std::string prometheus_text(const CounterValues& values) {
  std::string text;
  for (auto rows = counters(); !rows.empty();) {
    const Counter& first = rows.front();
    const auto end = std::ranges::find_if(rows, [&](const Counter& row) {
      return std::string_view(row.family) != first.family;
    });
    const std::string_view family = first.family;
    if (!family.empty()) {
      text.append("# HELP ").append(family).append(" ").append(first.help);
      text.append("\n# TYPE ").append(family);
      text.append(is_histogram(first) ? " histogram\n"
                  : first.is_gauge    ? " gauge\n"
                                      : " counter\n");
      append_samples({rows.begin(), end}, values, &text);
    }
    rows = {end, rows.end()};
  }
  return text;
}

}  // namespace limitree
