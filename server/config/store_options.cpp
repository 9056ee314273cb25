// Options: what answers have, and where the buckets are.

#include <algorithm>
#include <iterator>
#include <string>

#include "config/options.hpp"
#include "config/store_variables.hpp"
#include "io/failure.hpp"
#include "limitree.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr const char* kAnswers = "Answers";
constexpr const char* kBuckets = "Buckets";

// The size of one counter of the option over_cache_size.
constexpr std::size_t kBytesOfCounter = 16;
constexpr std::size_t kMostCounters = 10'000'000;

void read_store(EnvironmentReader* reader, ServeSettings* settings) {
  const auto backend = reader->word("BACKEND_TYPE", "redis memory memcache");
  read_memcache(reader, backend == 2u, &settings->store);
  if (backend == 0u || (!backend && reader->has("REDIS_URL"))) {
    return read_redis(reader, &settings->store);
  }
  reader->warn_unused(std::string(kRedisVariables) + ' ' + kPerSecondVariables,
                      backend
                          ? "with BACKEND_TYPE=" + *reader->text("BACKEND_TYPE")
                          : "without REDIS_URL or BACKEND_TYPE=redis");
}

// The options of the environment belong to its own store.
void set_store(const OptionValue& value, StoreSettings* store) {
  *store = {value.text(), {}};
  try {
    Config().set("store", store->url);
  } catch (const Error& error) {
    throw Failure(value.place + ": " + error.what());
  }
}

void read_library_options(EnvironmentReader* reader, ServeSettings* settings) {
  Pairs* const options = &settings->options;
  constexpr std::pair<const char*, const char*> kSwitches[] = {
      {"QUOTA_MODE", "quota_mode"},
      {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", "stop_increment"}};
  for (const auto& [name, option] : kSwitches) {
    bool on = false;
    if (reader->set(name, &on)) {
      reader->add_option(name, option, on ? "on" : "off", options);
    }
  }
  double ratio = 0;
  if (reader->set("NEAR_LIMIT_RATIO", &ratio)) {
    reader->add_option("NEAR_LIMIT_RATIO", "near_limit",
                       *reader->text("NEAR_LIMIT_RATIO"), options);
  }
  constexpr const char* kCache = "LOCAL_CACHE_SIZE_IN_BYTES";
  std::size_t bytes = 0;
  if (reader->set(kCache, &bytes, number_kind(INT64_MAX, 0))) {
    reader->add_option(
        kCache, "over_cache_size",
        std::to_string(std::min(bytes / kBytesOfCounter, kMostCounters)),
        options);
  }
}

Target field_name(std::string* to) {
  return [to](const OptionValue& value) {
    if (!is_field_name(value.text())) refuse(value, "the name of a header");
    *to = value.text();
  };
}

Target header_style(std::string* to) {
  std::string known;
  for (std::size_t i = 0; limitree_http_style_at(i) != nullptr; ++i) {
    known += (i == 0 ? "" : " ") + std::string(limitree_http_style_at(i));
  }
  return [to, known](const OptionValue& value) {
    *to = limitree_http_style_at(find_word(value, known));
  };
}

void add_library_options(const OptionValue& value, Pairs* options) {
  Pairs more;
  set_target(value, list_kind("NAME=VALUE"), &more);
  std::ranges::move(more, std::back_inserter(*options));
}

}  // namespace

std::vector<Option> store_options(ServeSettings* s) {
  AnswerSettings* const answers = &s->answers;
  return {
      {kAnswers, "--shadow", kSwitch, "SHADOW_MODE",
       "deny nothing, count what would be denied", &s->shadow},
      {kAnswers, "--answer-headers", kSwitch, "LIMIT_RESPONSE_HEADERS_ENABLED",
       "add RateLimit-* headers to answers to Envoy", &answers->headers},
      {kAnswers, "--limit-header", text_kind("NAME"), "LIMIT_LIMIT_HEADER",
       "header of the limit (RateLimit-Limit)",
       field_name(&answers->limit_header)},
      {kAnswers, "--remaining-header", text_kind("NAME"),
       "LIMIT_REMAINING_HEADER", "header of what is left (RateLimit-Remaining)",
       field_name(&answers->remaining_header)},
      {kAnswers, "--reset-header", text_kind("NAME"), "LIMIT_RESET_HEADER",
       "header of the time to wait (RateLimit-Reset)",
       field_name(&answers->reset_header)},
      {kAnswers, "--dynamic-metadata", kSwitch, "RESPONSE_DYNAMIC_METADATA",
       "add dynamic metadata to answers to Envoy", &answers->dynamic_metadata},
      {kAnswers, "--http-headers", text_kind("STYLE"), "",
       "style of the headers of /v1 (" + s->header_style + ")",
       header_style(&s->header_style)},

      {kBuckets, "-u,--store", text_kind("URL"),
       "BACKEND_TYPE " + std::string(kMemcacheVariables) + ' ' +
           kRedisVariables + ' ' + kPerSecondVariables + " CACHE_KEY_PREFIX",
       "where the buckets are, such as redis://HOST:6379",
       [s](const OptionValue& value) { set_store(value, &s->store); },
       read_store},
      {kBuckets, "--set", list_kind("NAME=VALUE"),
       "QUOTA_MODE STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT "
       "NEAR_LIMIT_RATIO LOCAL_CACHE_SIZE_IN_BYTES",
       "an option of the library",
       [s](const OptionValue& value) {
         add_library_options(value, &s->options);
       },
       read_library_options},
      {kBuckets, "--check-store", kSwitch,
       "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION",
       "be healthy only while the store answers", &s->health.needs_store}};
}

}  // namespace limitree::server
