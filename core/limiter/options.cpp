#include "limiter/options.hpp"

#include <charconv>

namespace limitree {

namespace {

Status bad_value(std::string_view name, const std::string& problem) {
  return Status(Code::kInvalidConfig, std::string(name) + ": " + problem);
}

Status set_store(std::string_view name, std::string_view value,
                 Options* options) {
  if (value != "memory://") {
    // The URL may hold a password: show the scheme alone.
    const std::size_t end = value.find("://");
    if (end == value.npos) {
      return bad_value(name, "must be a URL such as memory://");
    }
    return bad_value(name,
                     "scheme is not supported by this version, "
                     "supported is memory://");
  }
  options->store = value;
  return {};
}

Status set_max_buckets(std::string_view name, std::string_view value,
                       Options* options) {
  std::int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end || number < 1 ||
      number > MemoryStore::kMaxMaxBuckets) {
    return bad_value(name, "must be a whole number from 1 to " +
                               std::to_string(MemoryStore::kMaxMaxBuckets));
  }
  options->max_buckets = number;
  return {};
}

struct Option {
  std::string_view name;
  std::string_view default_value;
  std::string_view help;
  Status (*set)(std::string_view name, std::string_view value,
                Options* options);
};

constexpr Option kOptions[] = {
    {"store", "memory://", "where buckets are kept", set_store},
    {"max_buckets", "1000000",
     "the most buckets that the memory store keeps, at 16 bytes each; beyond "
     "that those with the least debt are evicted",
     set_max_buckets},
};

}  // namespace

Status set_option(std::string_view name, std::string_view value,
                  Options* options) {
  std::string known;
  for (const Option& option : kOptions) {
    if (option.name == name) return option.set(name, value, options);
    known += known.empty() ? "" : ", ";
    known += option.name;
  }
  return Status(Code::kInvalidArgument,
                "no option of that name, there are: " + known);
}

std::string options_markdown() {
  std::string table = "| option | default | meaning |\n|---|---|---|\n";
  for (const Option& option : kOptions) {
    table += "| `" + std::string(option.name) + "` | `" +
             std::string(option.default_value) + "` | " +
             std::string(option.help) + " |\n";
  }
  return table;
}

}  // namespace limitree
