#include "trace/settings.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "io/failure.hpp"

namespace limitree::server {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string refusal(const std::function<void(TraceSettings*)>& change) {
  TraceSettings settings;
  change(&settings);
  try {
    check_otlp(settings);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(TraceSettings, TheDefaultIsValid) {
  EXPECT_EQ(refusal([](TraceSettings*) {}), "");
  EXPECT_EQ(signal_url(TraceSettings()), "http://localhost:4318/v1/traces");
}

TEST(TraceSettings, AnEndpointForTracesIsTakenAsItIs) {
  TraceSettings settings;
  settings.endpoint = "https://collector:4318/base//";
  EXPECT_EQ(signal_url(settings), "https://collector:4318/base/v1/traces");
  settings.own_endpoint = "https://collector/t/";
  EXPECT_EQ(signal_url(settings), "https://collector/t/");
}

TEST(TraceSettings, MetricsHaveAnotherUrl) {
  MetricSettings settings;
  EXPECT_EQ(signal_url(settings), "http://localhost:4318/v1/metrics");
  settings.own_endpoint = "collector";
  EXPECT_THROW(check_otlp(settings), Failure);
  settings.own_endpoint = "http://collector";
  EXPECT_EQ(signal_url(settings), "http://collector");
}

TEST(TraceSettings, ThePathComesBeforeTheQuery) {
  TraceSettings settings;
  settings.endpoint = "https://u:p@collector/base/?key=a/b";
  EXPECT_EQ(signal_url(settings),
            "https://u:p@collector/base/v1/traces?key=a/b");
}

TEST(TraceSettings, MessagesShowNoSecretsOfAUrl) {
  EXPECT_EQ(shown_url("https://u:p@collector:1/v1/traces?key=x#y"),
            "https://collector:1/v1/traces");
  EXPECT_EQ(shown_url("http://u:p/@q@collector"), "http://collector");
  EXPECT_EQ(shown_url("u:p@collector?a@b"), "collector");
  EXPECT_EQ(shown_url("http://collector?u=a@b"), "http://collector");
  EXPECT_EQ(refusal([](auto* s) { s->endpoint = "u:secret@collector?k=x"; }),
            "OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://, "
            "is collector");
}

TEST(TraceSettings, WrongValuesAreRefused) {
  EXPECT_EQ(refusal([](auto* s) { s->timeout = Duration::zero(); }),
            "OTEL_EXPORTER_OTLP_TIMEOUT must be greater than 0");
  EXPECT_EQ(refusal([](auto* s) { s->endpoint = "collector:4318"; }),
            "OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://, "
            "is collector:4318");
  EXPECT_EQ(refusal([](auto* s) { s->own_endpoint = "ftp://x"; }),
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must begin with http:// or "
            "https://, is ftp://x");
}

TEST(TraceSettings, HeadersAreDecoded) {
  TraceSettings settings;
  settings.headers = "api-key=a%20b%2Cc, x = 1 ,,empty=";
  EXPECT_EQ(header_fields(settings),
            (Fields{{"api-key", "a b,c"}, {"x", "1"}, {"empty", ""}}));
}

TEST(TraceSettings, WrongHeadersAreRefused) {
  const std::string begin = "OTEL_EXPORTER_OTLP_HEADERS: ";
  for (const std::string text : {"key", "=v", "a b=c", "a:b=c"}) {
    EXPECT_EQ(refusal([&](auto* s) { s->headers = "k=v,," + text; }),
              begin + "field 2 is not NAME=VALUE");
  }
  for (const std::string text :
       {"k=%", "k=%1", "k=%zz", "k=%0d%0aX", "k=\x7F"}) {
    EXPECT_EQ(refusal([&](auto* s) { s->headers = text; }),
              begin + "the value of 'k' is not URL-encoded");
  }
}

}  // namespace
}  // namespace limitree::server
