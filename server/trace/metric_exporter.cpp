#include "trace/metric_exporter.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digits.hpp"
#include "trace/http_post.hpp"
#include "trace/resource.hpp"

namespace limitree::server {

namespace {

// ---- Messages ---------------------------------------------------------------

using protozero::pbf_writer;

// The numbers of the fields, by their messages.
enum Metric : protozero::pbf_tag_type {
  kMetricName = 1,
  kDescription = 2,
  kGauge = 5,
  kSum = 7,
  kHistogram = 9,
};
// Of Gauge, Sum and Histogram.
enum Points : protozero::pbf_tag_type {
  kPoints = 1,
  kTemporality = 2,
  kIsMonotonic = 3,
};
enum NumberPoint : protozero::pbf_tag_type {
  kBegunAt = 2,
  kReadAt = 3,
  kDouble = 4,
  kInteger = 6,
  kPointAttributes = 7,
};
// Begins as NumberPoint does.
enum HistogramPoint : protozero::pbf_tag_type {
  kCount = 4,
  kSumOfAll = 5,
  kCounts = 6,
  kBounds = 7,
  kHistogramAttributes = 9,
};

constexpr std::int32_t kCumulative = 2;

double as_double(std::string_view text) {
  double value = 0;
  read_digits(text, &value);
  return value;
}

std::uint64_t as_count(std::string_view text) {
  std::uint64_t count = 0;
  read_digits(text, &count);
  return count;
}

// A value of the page: name{label="text",label="text"} value
struct Sample {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string>> labels;
  std::string_view value;
};

// Takes the text up to a quote that nothing escapes, and the quote.
std::string take_quoted(std::string_view* line) {
  std::string text;
  while (!line->empty() && line->front() != '"') {
    const bool is_escaped = line->front() == '\\' && line->size() > 1;
    if (is_escaped) line->remove_prefix(1);
    text += is_escaped && line->front() == 'n' ? '\n' : line->front();
    line->remove_prefix(1);
  }
  line->remove_prefix(line->empty() ? 0 : 1);
  return text;
}

Sample parse_sample(std::string_view line) {
  Sample sample;
  const std::size_t end = line.find_first_of("{ ");
  sample.name = line.substr(0, end);
  if (end != line.npos && line[end] == '{') {
    line.remove_prefix(end + 1);
    for (std::size_t at; (at = line.find("=\"")) != line.npos;) {
      const std::string_view label = line.substr(0, at);
      line.remove_prefix(at + 2);
      sample.labels.emplace_back(label, take_quoted(&line));
      if (!line.starts_with(',')) break;
      line.remove_prefix(1);
    }
  }
  sample.value = line.substr(line.rfind(' ') + 1);
  return sample;
}

// When the counters began and when they were read, in nanoseconds since 1970.
struct MetricTimes {
  std::uint64_t begun;
  std::uint64_t read;
};

// Reads the page line after line, and writes what each family has become.
class MetricsWriter {
 public:
  explicit MetricsWriter(const MetricTimes& times) : times_(times) {}

  void take(std::string_view line) {
    constexpr std::string_view kHelp = "# HELP ";
    constexpr std::string_view kType = "# TYPE ";
    if (line.starts_with(kHelp)) {
      end_family();
      line.remove_prefix(kHelp.size());
      const std::size_t blank = line.find(' ');
      name_ = line.substr(0, blank);
      help_ = blank == line.npos ? "" : line.substr(blank + 1);
    } else if (line.starts_with(kType)) {
      type_ = line.substr(line.rfind(' ') + 1);
    } else if (!line.empty()) {
      take_sample(parse_sample(line));
    }
  }

  std::string finish() {
    end_family();
    return std::move(metrics_);
  }

 private:
  void take_sample(const Sample& sample) {
    if (type_ != "histogram") return add_number(sample);
    const std::string_view end =
        sample.name.substr(std::min(name_.size(), sample.name.size()));
    if (end == "_bucket" && !sample.labels.empty()) {
      const std::uint64_t below = as_count(sample.value);
      counts_.push_back(below - below_);
      below_ = below;
      const std::string& bound = sample.labels.back().second;
      if (bound != "+Inf") bounds_.push_back(as_double(bound));
    } else if (end == "_sum") {
      sum_ = as_double(sample.value);
    } else if (end == "_count") {
      add_histogram(sample);
    }
  }

  void add_number(const Sample& sample) {
    std::string text;
    pbf_writer point(text);
    if (type_ == "counter") point.add_fixed64(kBegunAt, times_.begun);
    point.add_fixed64(kReadAt, times_.read);
    std::int64_t number = 0;
    if (read_digits(sample.value, &number)) {
      point.add_sfixed64(kInteger, number);
    } else {
      point.add_double(kDouble, as_double(sample.value));
    }
    add_point(kPointAttributes, sample, std::move(text));
  }

  // With the count come the last of its values.
  void add_histogram(const Sample& count) {
    std::string text;
    pbf_writer point(text);
    point.add_fixed64(kBegunAt, times_.begun);
    point.add_fixed64(kReadAt, times_.read);
    point.add_fixed64(kCount, as_count(count.value));
    point.add_double(kSumOfAll, sum_);
    point.add_packed_fixed<std::uint64_t>(kCounts, counts_.begin(),
                                          counts_.end());
    point.add_packed_fixed<double>(kBounds, bounds_.begin(), bounds_.end());
    add_point(kHistogramAttributes, count, std::move(text));
    counts_.clear();
    bounds_.clear();
    below_ = 0;
  }

  // `tag` is that of the attributes.
  void add_point(protozero::pbf_tag_type tag, const Sample& sample,
                 std::string point) {
    for (const auto& [name, value] : sample.labels) {
      add_attribute(tag, name, value, &point);
    }
    pbf_writer(points_).add_message(kPoints, point);
  }

  void end_family() {
    if (!points_.empty()) {
      const bool is_gauge = type_ == "gauge";
      pbf_writer all(metrics_);
      pbf_writer metric(all, kOfSignal);
      metric.add_string(kMetricName, name_.data(), name_.size());
      metric.add_string(kDescription, help_.data(), help_.size());
      if (!is_gauge) pbf_writer(points_).add_enum(kTemporality, kCumulative);
      if (type_ == "counter") pbf_writer(points_).add_bool(kIsMonotonic, true);
      metric.add_message(is_gauge             ? kGauge
                         : type_ == "counter" ? kSum
                                              : kHistogram,
                         points_);
    }
    points_.clear();
  }

  const MetricTimes times_;
  std::string_view name_;  // of the family
  std::string_view help_;
  std::string_view type_;
  std::string points_;  // of the family, with their tags
  // Of the histogram that is read.
  std::vector<std::uint64_t> counts_;
  std::vector<double> bounds_;
  std::uint64_t below_ = 0;
  double sum_ = 0;
  std::string metrics_;
};

// Writes opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest.
// `page` is that for Prometheus, with counters, gauges and histograms in the
// text format 0.0.4, each with its help and its type before its values.  So
// both have the same metrics, by the same names.  Sums and histograms are
// cumulative.
std::string metrics_message(std::string_view page, std::string_view resource,
                            const MetricTimes& times) {
  MetricsWriter writer(times);
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    writer.take(page.substr(0, end));
    page.remove_prefix(end == page.npos ? page.size() : end + 1);
  }
  return signal_message(resource, writer.finish());
}

// ---- The thread -------------------------------------------------------------

std::uint64_t unix_now() {
  const std::chrono::nanoseconds since =
      std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(since.count());
}

// The data of the thread.
class MetricExporter {
 public:
  MetricExporter(const MetricSettings& settings, std::string resource,
                 std::function<std::string()> read, Say say)
      : resource_(std::move(resource)),
        read_(std::move(read)),
        sender_(settings, "metrics", std::move(say)),
        begun_(unix_now()) {}

  void run(Background::Signal& signal) {
    sender_.send(
        [this] {
          return metrics_message(read_(), resource_, {begun_, unix_now()});
        },
        &signal);
  }

 private:
  const std::string resource_;
  const std::function<std::string()> read_;
  SignalSender sender_;
  const std::uint64_t begun_;  // what is counted, in nanoseconds since 1970
};

}  // namespace

std::unique_ptr<Background> export_metrics(
    const MetricSettings& settings, std::string resource,
    std::function<std::string()> read,
    std::function<void(const std::string&)> say) {
  const auto exporter = std::make_shared<MetricExporter>(
      settings, std::move(resource), std::move(read), std::move(say));
  return run_each(settings.interval, [exporter](Background::Signal& signal) {
    exporter->run(signal);
  });
}

}  // namespace limitree::server
