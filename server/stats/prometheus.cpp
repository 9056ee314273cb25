// Statistics for Prometheus.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "stats/snapshot.hpp"

namespace limitree::server {

namespace {

// Of the ends of a histogram's ranges, only those that begin with certain
// digits are shown.
constexpr bool is_shown(std::size_t i) {
  const std::size_t digit = i % 9 + 1;
  return digit == 1 || digit == 2 || digit == 5;
}

std::string plain_number(double value) {
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
  return {text, end.ptr};
}

std::string in_seconds(std::uint64_t ns) {
  return plain_number(static_cast<double>(ns) / 1e9);
}

std::string label(std::string_view name, std::string_view value) {
  std::string text(name);
  text += "=\"";
  for (const char one : value) {
    if (one == '\\' || one == '"') text += '\\';
    text += one;
  }
  return text + '"';
}

void begin_family(std::string_view name, std::string_view type,
                  std::string_view help, std::string* text) {
  text->append("# HELP ").append(name).append(" ").append(help);
  text->append("\n# TYPE ").append(name).append(" ").append(type);
  text->append("\n");
}

void add_sample(std::string_view name, std::string_view labels,
                std::string_view value, std::string* text) {
  text->append(name);
  if (!labels.empty()) text->append("{").append(labels).append("}");
  text->append(" ").append(value).append("\n");
}

// "domain", "key1" and "key2" of "domain.key.key.key".
std::string limit_labels(std::string_view name) {
  std::string labels;
  for (const std::string_view one : {"domain", "key1", "key2"}) {
    const std::size_t dot = name.find('.');
    if (!labels.empty()) labels += ',';
    labels += label(one, name.substr(0, dot));
    if (dot == name.npos) break;
    name.remove_prefix(dot + 1);
  }
  return labels;
}

// Counter number `i` of limit_counters(), in all series that have it.
void add_family(std::size_t i, const std::map<std::string, LimitValues>& series,
                std::string* text) {
  const limitree_counter& counter = *limit_counters()[i];
  const std::string name =
      std::string("ratelimit_service_rate_limit_") + counter.name;
  bool is_begun = false;
  for (const auto& [labels, values] : series) {
    const bool is_limit = labels.find(",key1=") != labels.npos;
    if (values[i] == 0 && !(is_limit && is_usual(counter))) continue;
    if (!is_begun) begin_family(name, "counter", counter.help, text);
    is_begun = true;
    add_sample(name, labels, std::to_string(values[i]), text);
  }
}

void add_limits(const Snapshot& snapshot, std::string* text) {
  std::map<std::string, LimitValues> series;
  for (const auto& [name, values] : snapshot.limits) {
    LimitValues& sum = series[limit_labels(name)];
    sum.resize(values.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  for (std::size_t i = 0; i < limit_counters().size(); ++i) {
    add_family(i, series, text);
  }
}

void add_service(const Snapshot& snapshot, std::string* text) {
  const auto value = [&](ServiceCounter counter) {
    return std::to_string(snapshot.at(counter));
  };
  const auto add = [&](std::string_view name, std::string_view help,
                       ServiceCounter counter) {
    begin_family(name, "counter", help, text);
    add_sample(name, "", value(counter), text);
  };
  add("ratelimit_service_config_load_success", "Limits that were loaded.",
      ServiceCounter::kConfigLoadSuccess);
  add("ratelimit_service_config_load_error", "Limits that were refused.",
      ServiceCounter::kConfigLoadError);
  add("ratelimit_service_global_shadow_mode",
      "Requests that were allowed because the service is in shadow mode.",
      ServiceCounter::kGlobalShadowMode);
  constexpr std::string_view kErrors =
      "ratelimit_service_should_rate_limit_error";
  begin_family(kErrors, "counter", "Requests that were answered by an error.",
               text);
  add_sample(kErrors, label("err_type", "redis_error"),
             value(ServiceCounter::kRedisError), text);
  add_sample(kErrors, label("err_type", "service_error"),
             value(ServiceCounter::kServiceError), text);
}

void add_single(std::string name, std::string_view type, std::string_view help,
                std::string_view value, std::string* text) {
  std::replace(name.begin(), name.end(), '.', '_');
  begin_family(name, type, help, text);
  add_sample(name, "", value, text);
}

// Names and types are those of all clients of Prometheus.
void add_process(const ProcessUsage& usage, std::string* text) {
  const auto add = [&](const char* name, std::string_view help, double value,
                       std::string_view type = "gauge") {
    add_single(name, type, help, plain_number(value), text);
  };
  const auto count = [&](const char* name, std::string_view help,
                         std::uint64_t value) {
    add_single(name, "gauge", help, std::to_string(value), text);
  };
  add("process_cpu_seconds_total", "Processor time of this process.",
      usage.cpu_seconds, "counter");
  add("process_start_time_seconds", "When it was started, since 1970.",
      usage.begun);
  count("process_resident_memory_bytes", "What it has in memory.",
        usage.resident_bytes);
  count("process_virtual_memory_bytes", "Its address space that is in use.",
        usage.virtual_bytes);
  count("process_open_fds", "Its open file descriptors.",
        usage.open_descriptors);
  count("process_max_fds", "How many of these it may have.",
        usage.max_descriptors);
}

void add_histogram(std::string_view name, const std::string& labels,
                   const HistogramCounts& times, std::string* text) {
  const std::string bucket = std::string(name) + "_bucket";
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    count += times.counts[i];
    if (!is_shown(i)) continue;
    const std::string end =
        in_seconds(static_cast<std::uint64_t>(range_end(i).count()));
    add_sample(bucket, labels + ',' + label("le", end), std::to_string(count),
               text);
  }
  const std::string total = std::to_string(times.total());
  add_sample(bucket, labels + ',' + label("le", "+Inf"), total, text);
  add_sample(std::string(name) + "_sum", labels, in_seconds(times.sum_ns),
             text);
  add_sample(std::string(name) + "_count", labels, total, text);
}

void add_methods(const Snapshot& snapshot, std::string* text) {
  if (snapshot.methods.empty()) return;
  constexpr std::string_view kRequests = "ratelimit_service_total_requests";
  begin_family(kRequests, "counter", "Requests that were answered.", text);
  for (const auto& [method, times] : snapshot.methods) {
    add_sample(kRequests, label("grpc_method", method),
               std::to_string(times.total()), text);
  }
  constexpr std::string_view kTimes = "ratelimit_service_response_time_seconds";
  begin_family(kTimes, "histogram", "Time until the answer.", text);
  for (const auto& [method, times] : snapshot.methods) {
    add_histogram(kTimes, label("grpc_method", method), times, text);
  }
}

}  // namespace

std::string prometheus_text(const Snapshot& snapshot) {
  std::string text;
  add_limits(snapshot, &text);
  add_service(snapshot, &text);
  for (const auto& [name, value] : snapshot.gauges) {
    add_single(name, "gauge", "The cache of limits that are used up.",
               std::to_string(value), &text);
  }
  for (const auto& [name, value] : snapshot.losses) {
    add_single(name + "_total", "counter", "Reports that could not be sent.",
               std::to_string(value), &text);
  }
  add_methods(snapshot, &text);
  if (snapshot.process) add_process(*snapshot.process, &text);
  return text;
}

}  // namespace limitree::server
