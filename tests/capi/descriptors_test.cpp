// Descriptors through the C interface.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "limitree.hpp"

namespace descriptors_test {
namespace {

using limitree::Config;
using limitree::Error;
using limitree::Limiter;

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

// Returns the message of an error, and frees the error.
std::string take(limitree_error* error) {
  const std::string message =
      error == nullptr ? "" : limitree_error_message(error);
  limitree_error_free(error);
  return message;
}

limitree_file file(std::string_view text, std::string_view name = "d.yaml") {
  return {str(text), str(name)};
}

constexpr std::string_view kA =
    "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, "
    "requests_per_unit: 3}}]";
constexpr std::string_view kB = "domain: d\ndescriptors: [{key: b}]";
constexpr std::string_view kE = "domain: e\ndescriptors: [{key: c}]";

TEST(Descriptors, AreAddedToAConfig) {
  Config config;
  const std::vector<limitree_file> first = {file(kA), file(kE)};
  config.add_descriptors(first);
  const Limiter limiter(config);
  EXPECT_EQ(limiter.describe_descriptors().view(),
            "d\n  a   3 per DAY\ne\n  c\n");

  const std::vector<limitree_file> more = {file(kB)};
  config.add_descriptors(more, true);
  EXPECT_EQ(Limiter(config).describe_descriptors().view(),
            "d\n  a   3 per DAY\n  b\ne\n  c\n");
  EXPECT_EQ(limiter.describe_descriptors().view(),
            "d\n  a   3 per DAY\ne\n  c\n");
}

TEST(Descriptors, AllOrNoneAreAdded) {
  Config config;
  const std::vector<limitree_file> first = {file(kA)};
  config.add_descriptors(first);
  const std::vector<limitree_file> bad = {file(kE), file(kB, "b.yaml"),
                                          file("domain: f\nfoo: 1", "c.yaml")};
  try {
    config.add_descriptors(bad);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), LIMITREE_INVALID_CONFIG);
    EXPECT_EQ(error.messages(),
              (std::vector<std::string>{
                  "b.yaml:1:9: duplicate domain 'd' in config file",
                  "c.yaml:2:1: config error, unknown key 'foo'"}));
  }
  EXPECT_EQ(Limiter(config).describe_descriptors().view(),
            "d\n  a   3 per DAY\n");
  config.add_descriptors({});
  EXPECT_EQ(Limiter(Config()).describe_descriptors().view(), "");
}

TEST(Descriptors, Explain) {
  Config config;
  const std::vector<limitree_file> files = {file(kA)};
  config.add_descriptors(files);
  const Limiter limiter(config);
  const std::vector<limitree_entry> entries = {{str("a"), str("1")}};
  const std::string text(limiter.explain_descriptor("d", entries).view());
  EXPECT_NE(text.find("bucket   d:a:1#day!fw\n"), text.npos) << text;
  EXPECT_EQ(limiter.explain_descriptor("x", {}).view(),
            "descriptor\n  there is no domain \"x\": everything is allowed\n");
}

// A config with one file of descriptors, and one top-level name.
Config config_of(std::string_view descriptors, std::string_view root) {
  const std::string yaml = "schema: {" + std::string(root) + ": {limits: 1/s}}";
  Config config;
  config.add_limits(yaml, "limits.yaml");
  const std::vector<limitree_file> files = {file(descriptors)};
  config.add_descriptors(files);
  return config;
}

// The descriptors of a limiter, and its tree up to its limits.
std::string shown(const Limiter& limiter) {
  std::string text(limiter.describe_descriptors().view());
  const std::string tree(limiter.describe().view());
  return text + tree.substr(0, tree.find(' '));
}

TEST(Descriptors, AreReloadedWithTheTree) {
  Limiter limiter(config_of(kA, "x"));
  EXPECT_EQ(shown(limiter), "d\n  a   3 per DAY\nx");
  limiter.reload(config_of(kE, "y"));
  EXPECT_EQ(shown(limiter), "e\n  c\ny");

  // A tree alone leaves them as they are.
  limiter.reload("schema: {z: {limits: 1/s}}", "limits.yaml");
  EXPECT_EQ(shown(limiter), "e\n  c\nz");
  limiter.put("p", "{limits: 1/s}", "p");
  EXPECT_EQ(limiter.describe_descriptors().view(), "e\n  c\n");

  limiter.reload(Config());
  EXPECT_EQ(limiter.describe_descriptors().view(), "");
}

TEST(Descriptors, StayIfTheTreeIsRefused) {
  Limiter limiter(config_of(kA, "x"));
  limiter.put("p", "{limits: 1/s}", "p");
  EXPECT_THROW(limiter.reload(config_of(kE, "p")), Error);
  EXPECT_EQ(limiter.describe_descriptors().view(), "d\n  a   3 per DAY\n");
}

TEST(Descriptors, AreReloadedWhileOthersAsk) {
  const Config first = config_of(kA, "x");
  const Config second = config_of(kE, "y");
  Limiter limiter(first);
  const std::vector<limitree_entry> entries = {{str("a"), str("1")}};
  const auto explained = [&] {
    return std::string(limiter.explain_descriptor("d", entries).view());
  };
  const std::string with_rule = explained();
  limiter.reload(second);
  const std::string without = explained();
  ASSERT_NE(with_rule, without);

  std::atomic<bool> done = false;
  std::array<std::atomic<int>, 2> seen = {};
  std::atomic<int> wrong = 0;
  std::vector<std::thread> askers;
  for (int i = 0; i < 3; ++i) {
    askers.emplace_back([&] {
      while (!done) {
        const std::string text = explained();
        if (text != with_rule && text != without) ++wrong;
        ++seen[text == with_rule ? 0 : 1];
      }
    });
  }
  while (seen[0] < 20 || seen[1] < 20) {
    limiter.reload(first);
    limiter.reload(second);
    limiter.reload(first);
    std::this_thread::yield();
    limiter.reload(second);
  }
  done = true;
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Descriptors, ComeToALimitsYaml) {
  Config config;
  const limitree_file both[] = {
      file("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day}}]"),
      file("domain: e\ndescriptors: [{key: a*}]")};
  config.add_descriptors(both);
  const limitree::Text yaml = config.limits_from_descriptors();
  EXPECT_EQ(yaml.view().substr(0, 15), "schema:\n  d:\n  ");
  EXPECT_EQ(yaml.warnings(),
            std::vector<std::string>(
                {"d.yaml:2:21: a key with a * has no equivalent"}));
  Config converted;
  converted.set_limits(yaml.view(), "limits.yaml");
  Limiter limiter(converted);
  const std::array<limitree_str, 3> path = {str("d"), str("a"), str("x")};
  EXPECT_EQ(limiter.authorize(path).limited, 1);

  limitree_error* error = nullptr;
  limitree_text* text = nullptr;
  const auto refused = [&](const limitree_config* from, limitree_text** out) {
    EXPECT_EQ(limitree_limits_from_descriptors(from, out, &error),
              LIMITREE_INVALID_ARGUMENT);
    return take(error);
  };
  EXPECT_EQ(refused(nullptr, &text), "config must not be null");
  EXPECT_EQ(refused(config.get(), nullptr), "yaml must not be null");
  EXPECT_EQ(refused(converted.get(), &text), "config has no descriptors");
}

TEST(Descriptors, RefuseNull) {
  Config config;
  const Limiter limiter(config);
  limitree_error* error = nullptr;
  const limitree_str null = {nullptr, 1};
  const auto added = [&](limitree_config* to, const limitree_file* files) {
    EXPECT_EQ(limitree_config_add_descriptors(to, files, 1, 0, &error),
              LIMITREE_INVALID_ARGUMENT);
    return take(error);
  };
  const limitree_file good = file(kA);
  const limitree_file no_text = {null, str("d")};
  const limitree_file no_name = {str("d"), null};
  EXPECT_EQ(added(nullptr, &good), "config must not be null");
  EXPECT_EQ(added(config.get(), nullptr), "files must not be null");
  EXPECT_EQ(added(config.get(), &no_text), "text.data must not be null");
  EXPECT_EQ(added(config.get(), &no_name), "name.data must not be null");

  limitree_text* text = nullptr;
  const auto described = [&](limitree_limiter* of, limitree_text** out) {
    EXPECT_EQ(limitree_limiter_describe_descriptors(of, out, &error),
              LIMITREE_INVALID_ARGUMENT);
    return take(error);
  };
  EXPECT_EQ(described(nullptr, &text), "limiter must not be null");
  EXPECT_EQ(described(limiter.get(), nullptr), "text must not be null");

  const auto explained = [&](limitree_limiter* of, limitree_str domain,
                             const limitree_entry* entries,
                             limitree_text** out) {
    EXPECT_EQ(limitree_limiter_explain_descriptor(of, domain, entries, 1, out,
                                                  &error),
              LIMITREE_INVALID_ARGUMENT);
    return take(error);
  };
  const limitree_entry entry = {str("a"), str("1")};
  const limitree_entry no_key = {null, str("1")};
  const limitree_entry no_value = {str("a"), null};
  limitree_limiter* const of = limiter.get();
  EXPECT_EQ(explained(nullptr, str("d"), &entry, &text),
            "limiter must not be null");
  EXPECT_EQ(explained(of, null, &entry, &text), "domain.data must not be null");
  EXPECT_EQ(explained(of, str("d"), nullptr, &text),
            "entries must not be null");
  EXPECT_EQ(explained(of, str("d"), &entry, nullptr), "text must not be null");
  EXPECT_EQ(explained(of, str("d"), &no_key, &text),
            "key.data must not be null");
  EXPECT_EQ(explained(of, str("d"), &no_value, &text),
            "value.data must not be null");
  EXPECT_EQ(text, nullptr);
}

}  // namespace
}  // namespace descriptors_test
