#include "config/xds_messages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <semaphore>
#include <string>

#include "config/config_thread.hpp"
#include "config/xds_client.hpp"

namespace limitree::server {
namespace {

using protozero::pbf_writer;

constexpr const char* kType =
    "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";

// A RateLimitDescriptor with these fields and `more` bytes.
std::string descriptor(const std::string& key, const std::string& value,
                       const std::string& more = "") {
  std::string made;
  pbf_writer to(made);
  to.add_string(1, key);
  if (!value.empty()) to.add_string(2, value);
  return made + more;
}

// Its field `rate_limit`.
std::string rule(std::int32_t unit, std::uint32_t requests,
                 const std::string& more = "") {
  std::string policy;
  pbf_writer to(policy);
  if (unit != 0) to.add_enum(1, unit);
  if (requests != 0) to.add_uint32(2, requests);
  std::string made;
  pbf_writer(made).add_message(3, policy + more);
  return made;
}

std::string config(const std::string& name, const std::string& domain,
                   const std::vector<std::string>& descriptors) {
  std::string made;
  pbf_writer to(made);
  to.add_string(1, name);
  to.add_string(2, domain);
  for (const std::string& one : descriptors) to.add_message(3, one);
  return made;
}

std::string response(const std::vector<std::string>& configs,
                     const std::string& type = kType) {
  std::string made;
  pbf_writer to(made);
  to.add_string(1, "v7");
  for (const std::string& one : configs) {
    pbf_writer any(to, 2);
    any.add_string(1, type);
    any.add_message(2, one);
  }
  to.add_string(5, "n1");
  return made;
}

std::string text_of(const std::string& config) {
  const XdsResponse read = read_response(response({config}));
  EXPECT_EQ(read.error, "");
  return read.files.empty() ? "" : read.files[0].text;
}

TEST(XdsResponse, HasAFileForEachConfiguration) {
  const XdsResponse read =
      read_response(response({config("one", "a", {}), config("", "b", {})}));
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.version, "v7");
  EXPECT_EQ(read.nonce, "n1");
  ASSERT_EQ(read.files.size(), 2u);
  EXPECT_EQ(read.files[0].name, "one");
  EXPECT_EQ(read.files[0].text, "{\"domain\":\"a\"}\n");
  EXPECT_EQ(read.files[1].name, "resource 2");
}

TEST(XdsResponse, HasNamesOfOneLine) {
  const XdsResponse read = read_response(
      response({config(std::string("a\0b\nc\x7f d\xc3\xa9", 10), "a", {})}));
  ASSERT_EQ(read.files.size(), 1u);
  EXPECT_EQ(read.files[0].name, "a_b_c_ d\xc3\xa9");
}

TEST(XdsResponse, WritesDescriptorsAsAFileHasThem) {
  std::string flags;
  pbf_writer to(flags);
  to.add_bool(5, true);
  to.add_bool(6, true);
  to.add_bool(7, true);
  EXPECT_EQ(text_of(config("n", "d",
                           {descriptor("k", "v", rule(2, 5) + flags),
                            descriptor("free", "")})),
            "{\"domain\":\"d\",\"descriptors\":[\n"
            "{\"key\":\"k\",\"value\":\"v\",\"rate_limit\":"
            "{\"unit\":\"MINUTE\",\"requests_per_unit\":5},"
            "\"shadow_mode\":true,\"detailed_metric\":true,"
            "\"quota_mode\":true}\n"
            ",{\"key\":\"free\"}]}\n");
}

TEST(XdsResponse, WritesRules) {
  std::string more;
  pbf_writer to(more);
  to.add_string(4, "a \"name\"\n");
  pbf_writer(to, 5).add_string(1, "other");
  EXPECT_NE(text_of(config("n", "d", {descriptor("k", "", rule(7, 0, more))}))
                .find("{\"unit\":\"WEEK\",\"requests_per_unit\":0,\"name\":"
                      "\"a \\\"name\\\"\\u000a\",\"replaces\":[{\"name\":"
                      "\"other\"}]}"),
            std::string::npos);
  std::string unlimited;
  pbf_writer(unlimited).add_bool(3, true);
  EXPECT_NE(
      text_of(config("n", "d", {descriptor("k", "", rule(0, 0, unlimited))}))
          .find("\"rate_limit\":{\"unlimited\":true}"),
      std::string::npos);
  EXPECT_NE(text_of(config("n", "d", {descriptor("k", "", rule(99, 1))}))
                .find("\"unit\":\"99\""),
            std::string::npos);
}

// A Struct with one field.
std::string structure(const std::string& name, const std::string& value) {
  std::string made;
  pbf_writer to(made);
  pbf_writer entry(to, 1);
  entry.add_string(1, name);
  entry.add_message(2, value);
  return made;
}

std::string metadata(const std::string& value) {
  std::string made;
  pbf_writer(made).add_message(8, structure("m \"\n", value));
  return made;
}

std::string number(double value) {
  std::string made;
  pbf_writer(made).add_double(2, value);
  return made;
}

TEST(XdsResponse, WritesMetadata) {
  std::string list;
  {
    pbf_writer to(list);
    pbf_writer values(to, 6);
    values.add_message(1, number(1.5));
    values.add_message(1, std::string());
  }
  EXPECT_NE(text_of(config("n", "d", {descriptor("k", "", metadata(list))}))
                .find("\"metadata\":{\"m \\\"\\u000a\":[1.5,null]}"),
            std::string::npos);
  const XdsResponse read = read_response(response({config(
      "n", "d",
      {descriptor(
          "k", "",
          metadata(number(std::numeric_limits<double>::infinity())))})}));
  EXPECT_EQ(read.error, "resource 1: metadata has a number that is not finite");
}

TEST(XdsResponse, RefusesWhatIsTooDeep) {
  std::string deep = descriptor("k", "");
  for (int i = 0; i < 100; ++i) {
    std::string outer = descriptor("k", "");
    pbf_writer(outer).add_message(4, deep);
    deep = outer;
  }
  EXPECT_EQ(read_response(response({config("n", "d", {deep})})).error,
            "resource 1: the message is too deep");
  std::string value;
  for (int i = 0; i < 100; ++i) {
    std::string outer;
    pbf_writer(outer).add_message(5, structure("x", value));
    value = outer;
  }
  EXPECT_EQ(
      read_response(
          response({config("n", "d", {descriptor("k", "", metadata(value))})}))
          .error,
      "resource 1: the message is too deep");
}

TEST(XdsResponse, RefusesOtherMessages) {
  EXPECT_EQ(read_response("\xff").error, "no valid protobuf message");
  EXPECT_EQ(read_response(response({"\x0a\x09"})).error,
            "resource 1: no valid protobuf message");
  EXPECT_EQ(read_response(response({""}, "a.B")).error,
            "resource 1: has the type 'a.B'");
}

TEST(XdsResponse, LeavesOutFieldsOfOtherTypes) {
  std::string odd;
  pbf_writer to(odd);
  to.add_int32(1, 5);        // name
  to.add_fixed64(3, 5);      // descriptors
  to.add_string(99, "new");  // not known
  to.add_string(2, "d");
  EXPECT_EQ(text_of(odd), "{\"domain\":\"d\"}\n");
}

TEST(XdsRequest, SaysWhoAsksAndWhatWasWrong) {
  XdsSettings settings;
  settings.node_id = "me";
  std::string out;
  write_request({"v1", "n1", std::string(10'000, 'x')}, settings, &out);
  // The reader of answers knows three of the fields.
  const XdsResponse read = read_response(out.substr(0, 4));
  EXPECT_EQ(read.version, "v1");
  EXPECT_NE(out.find(kType), std::string::npos);
  EXPECT_NE(out.find("me"), std::string::npos);
  EXPECT_NE(out.find(std::string(4096, 'x')), std::string::npos);
  EXPECT_EQ(out.find(std::string(4097, 'x')), std::string::npos);
}

TEST(XdsRequest, HasTextsThatServersRead) {
  const auto written = [](const std::string& error) {
    std::string out;
    write_request({"", "", error}, {}, &out);
    return out;
  };
  EXPECT_NE(written("n:1: \xff\xc3\xa9").find("n:1: _\xc3\xa9"),
            std::string::npos);
  // What would be cut in the middle is left out.
  std::string out = written(std::string(4095, 'x') + "\xc3\xa9");
  EXPECT_TRUE(out.ends_with('x'));
  out = written(std::string(4094, 'x') + "\xc3\xa9z");
  EXPECT_TRUE(out.ends_with("x\xc3\xa9"));
}

TEST(XdsWaits, DoubleUpToTheLast) {
  XdsSettings settings;
  settings.first_wait = kOneSecond;
  settings.last_wait = 5 * kOneSecond;
  settings.random = 0.5;
  EXPECT_EQ(wait_before(settings, 1, 0), kOneSecond);
  EXPECT_EQ(wait_before(settings, 2, 0), 2 * kOneSecond);
  EXPECT_EQ(wait_before(settings, 3, 0), 4 * kOneSecond);
  EXPECT_EQ(wait_before(settings, 4, 0), 5 * kOneSecond);
  EXPECT_EQ(wait_before(settings, 1'000'000'000, 0), 5 * kOneSecond);
  EXPECT_EQ(wait_before(settings, 1, -1), kOneSecond / 2);
  EXPECT_EQ(wait_before(settings, 1, 1), 3 * kOneSecond / 2);
}

TEST(XdsWaits, AreNeverNothing) {
  XdsSettings settings;
  settings.first_wait = Duration::zero();
  EXPECT_EQ(wait_before(settings, 1, 0), kMillisecond);
  EXPECT_EQ(wait_before(settings, 3, 0), 4 * kMillisecond);
  settings.last_wait = Duration::zero();
  EXPECT_EQ(wait_before(settings, 3, 0), kMillisecond);
  settings.random = 1;
  EXPECT_EQ(wait_before(settings, 1, -1), kMillisecond);
}

TEST(XdsWaits, MayBeAsLongAsADurationCanBe) {
  XdsSettings settings;
  settings.first_wait = kNever / 2 + kOneSecond;
  settings.last_wait = kNever;
  EXPECT_EQ(wait_before(settings, 2, 0), kNever);
  EXPECT_EQ(wait_before(settings, 3, 1), kNever);
}

// A thread with its limiter.
struct Loading final : ConfigListener {
  explicit Loading(const std::string& limits = "") {
    settings.limits = limits;
    thread.emplace(&settings, this);
    Config config;
    thread->read(&config);
    limiter.emplace(config);
    thread->start(&*limiter);
  }

  void loaded(Loaded /*what*/, const LoadReport& result) override {
    report = result;
    reports.release();
  }
  void server_lost(const std::string& /*why*/) override {}
  void store_answers(bool /*answers*/) override {}

  // A server sends these.
  LoadReport load(const std::vector<SourceFile>& files) {
    thread->take(files);
    reports.acquire();
    return report;
  }
  LoadReport reload() {
    thread->reload();
    reports.acquire();
    return report;
  }

  ServeSettings settings;
  LoadReport report;
  std::counting_semaphore<> reports{0};
  std::optional<Limiter> limiter;
  std::optional<ConfigThread> thread;
};

// What the messages mean is what the core says.
TEST(ConfigThread, LoadsWhatAServerSends) {
  Loading loading;
  const auto load = [&](const std::string& message) {
    return loading.load(read_response(message).files);
  };
  LoadReport report =
      load(response({config("n", "d", {descriptor("k", "v", rule(2, 5))})}));
  EXPECT_TRUE(report.loaded) << report.mistakes[0];
  EXPECT_EQ(report.files, 1u);
  EXPECT_EQ(loading.limiter->describe_descriptors().view(),
            "d\n  k=v   5 per MINUTE\n");
  report = load(response({config("n", "d", {descriptor("", "", rule(2, 5))})}));
  EXPECT_FALSE(report.loaded);
  ASSERT_EQ(report.mistakes.size(), 1u);
  EXPECT_EQ(report.mistakes[0], "n:2:8: descriptor has empty key");
  EXPECT_EQ(loading.limiter->describe_descriptors().view(),
            "d\n  k=v   5 per MINUTE\n");
}

TEST(ConfigThread, KeepsWhatItIsNotGiven) {
  const std::string limits = testing::TempDir() + "config_thread_limits.yaml";
  const auto write = [&](const char* text) { std::ofstream(limits) << text; };
  write("schema: {user: {limits: 5/hour}}");
  Loading loading(limits);
  const auto knows = [&](const char* name) {
    const limitree_str path[] = {to_str(name)};
    return !loading.limiter->authorize(path).limited;
  };
  EXPECT_EQ(loading.load({{"a", "domain: a"}, {"b", "domain: b"}}).files, 2u);
  EXPECT_TRUE(loading.load({{"c.yaml", "domain: c"}}).loaded);
  EXPECT_EQ(loading.limiter->describe_descriptors().view(), "c\n");
  EXPECT_TRUE(knows("user"));
  write("schema: {plan: {limits: 5/hour}}");
  const LoadReport report = loading.reload();
  EXPECT_TRUE(report.loaded);
  EXPECT_EQ(report.files, 1u);
  EXPECT_EQ(loading.limiter->describe_descriptors().view(), "c\n");
  EXPECT_TRUE(knows("plan"));
  write("schema: 1");
  EXPECT_FALSE(loading.reload().loaded);
  EXPECT_TRUE(knows("plan"));
}

// Without limits there is nothing to read again, but the descriptors stay.
TEST(ConfigThread, HasDescriptorsWithoutLimits) {
  Loading loading;
  EXPECT_TRUE(loading.load({{"c.yaml", "domain: c"}}).loaded);
  EXPECT_EQ(loading.reload().files, 1u);
}

}  // namespace
}  // namespace limitree::server
