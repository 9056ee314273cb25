// Fails each allocation in turn: every call returns a status, nothing is thrown
// across the interface, nothing leaks (ASan), and the limiter works afterwards.

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "limitree.h"
#include "starving_new.hpp"

using limitree::g_allocations_left;

namespace {

constexpr char kYaml[] =
    "schema: {user: {children: {'*': {limits: [[15, 30, 60], 5/day], children: "
    "{trade: {limits: [5, 10, 15]}}}, carol: {limits: 9/s}}}}";

limitree_str str(const std::string& text) { return {text.data(), text.size()}; }

int g_failures = 0;

void expect(bool good, const char* what, long allocations) {
  if (good) return;
  ++g_failures;
  std::fprintf(stderr, "after %ld allocations: %s\n", allocations, what);
}

// Runs `call` with 0, 1, 2, ... allocations until it succeeds.
template <typename Call>
void starve(const char* name, Call call) {
  for (long allocations = 0; allocations < 100'000; ++allocations) {
    limitree_error* error = nullptr;
    g_allocations_left = allocations;
    const limitree_status status = call(&error);
    g_allocations_left = std::numeric_limits<long>::max();
    if (status == LIMITREE_OK) {
      expect(error == nullptr, "an error in spite of success", allocations);
      return;
    }
    expect(status == LIMITREE_OUT_OF_MEMORY, name, allocations);
    expect(limitree_error_status(error) == status, "status", allocations);
    expect(std::string(limitree_error_message(error)) == "out of memory",
           "message", allocations);
    limitree_error_free(error);
  }
  expect(false, "never succeeded", -1);
}

}  // namespace

int main() {
  const std::string yaml = kYaml;
  const std::string more = "schema: {more: {limits: 1/day}}";
  const std::string origin = "limits.yaml";
  limitree_config* config = nullptr;
  for (long allocations = 0; config == nullptr; ++allocations) {
    g_allocations_left = allocations;
    config = limitree_config_new();  // the one call that reports it by null
    g_allocations_left = std::numeric_limits<long>::max();
  }
  starve("set_limits", [&](limitree_error** error) {
    return limitree_config_set_limits(config, str(yaml), str(origin), error);
  });
  starve("add_limits", [&](limitree_error** error) {
    return limitree_config_add_limits(config, str(more), str(origin), error);
  });
  const std::string descriptors =
      "domain: d\ndescriptors: [{key: a, value: '1*', descriptors: [{key: b, "
      "rate_limit: {unit: day, requests_per_unit: 3, name: n, replaces: "
      "[{name: m}]}, metadata: {x: [1, y]}}]}]";
  const limitree_file file = {str(descriptors), str(origin)};
  starve("add_descriptors", [&](limitree_error** error) {
    return limitree_config_add_descriptors(config, &file, 1, 0, error);
  });
  starve("a missing argument", [&](limitree_error** error) {
    const limitree_status status =
        limitree_config_set_limits(nullptr, str(yaml), str(origin), error);
    if (status != LIMITREE_INVALID_ARGUMENT) return status;
    limitree_error_free(*error);
    *error = nullptr;
    return limitree_status{LIMITREE_OK};
  });
  limitree_limiter* limiter = nullptr;
  starve("limiter_new", [&](limitree_error** error) {
    return limitree_limiter_new(config, &limiter, error);
  });
  limitree_limiter* other = nullptr;
  starve("new_loop", [&](limitree_error** error) {
    return limitree_limiter_new_loop(limiter, nullptr, &other, error);
  });
  limitree_limiter_free(other);
  starve("reload", [&](limitree_error** error) {
    return limitree_limiter_reload(limiter, str(yaml), str(origin), error);
  });
  starve("reload_config", [&](limitree_error** error) {
    return limitree_limiter_reload_config(limiter, config, error);
  });

  // Many paths, so that there is something to allocate.
  std::string names[40];
  limitree_str segments[40][2];
  limitree_path paths[40];
  const std::string user = "user";
  const std::string d = "d", a = "a", b = "b", value = "1";
  for (std::size_t i = 0; i < 40; ++i) {
    names[i] = "caller" + std::to_string(i);
    segments[i][0] = str(user);
    segments[i][1] = str(names[i]);
    paths[i] = {segments[i], 2, 1, LIMITREE_PART_CHARGE};
  }
  limitree_level levels[80];
  limitree_decision decision;
  starve("decide", [&](limitree_error** error) {
    return limitree_decide(limiter, LIMITREE_AUTHORIZE, paths, 40, levels, 80,
                           &decision, error);
  });
  // The starved attempts charged nothing.
  expect(decision.level_count == 80 && levels[0].remaining == 15,
         "charged by an attempt that failed", 0);
  limitree_text* text = nullptr;
  starve("describe", [&](limitree_error** error) {
    return limitree_limiter_describe(limiter, &text, error);
  });
  limitree_text_free(text);
  starve("prometheus", [&](limitree_error** error) {
    return limitree_limiter_prometheus(limiter, &text, error);
  });
  limitree_text_free(text);
  starve("explain", [&](limitree_error** error) {
    return limitree_limiter_explain(limiter, segments[0], 2, &text, error);
  });
  limitree_text_free(text);
  starve("list_holds", [&](limitree_error** error) {
    return limitree_limiter_list_holds(limiter, segments[0], 2, &text, error);
  });
  limitree_text_free(text);
  starve("limits_from_descriptors", [&](limitree_error** error) {
    return limitree_limits_from_descriptors(config, &text, error);
  });
  limitree_text_free(text);
  starve("describe_descriptors", [&](limitree_error** error) {
    return limitree_limiter_describe_descriptors(limiter, &text, error);
  });
  limitree_text_free(text);
  const limitree_entry entries[] = {{str(a), str(value)}, {str(b), str(value)}};
  starve("explain_descriptor", [&](limitree_error** error) {
    return limitree_limiter_explain_descriptor(limiter, str(d), entries, 2,
                                               &text, error);
  });
  limitree_text_free(text);
  // Many descriptors, so that there is something to allocate.
  limitree_descriptor asked[40] = {};
  for (limitree_descriptor& one : asked) one.entries = entries;
  for (limitree_descriptor& one : asked) one.entry_count = 2;
  limitree_envoy_request request{};
  request.domain = str(d);
  request.descriptors = asked;
  request.descriptor_count = 40;
  limitree_descriptor_status statuses[40];
  limitree_envoy_response response;
  starve("should_rate_limit", [&](limitree_error** error) {
    return limitree_should_rate_limit(limiter, &request, statuses, 40,
                                      &response, error);
  });
  // The starved attempts counted nothing.
  expect(statuses[0].limit_remaining == 2 && statuses[2].limit_remaining == 0,
         "counted by an attempt that failed", 0);
  starve("reset_descriptors", [&](limitree_error** error) {
    return limitree_reset_descriptors(limiter, &request, error);
  });
  // An ordinary request allocates nothing.
  request.descriptor_count = 2;
  g_allocations_left = 0;
  const limitree_status ordinary = limitree_should_rate_limit(
      limiter, &request, statuses, 2, &response, nullptr);
  g_allocations_left = std::numeric_limits<long>::max();
  expect(ordinary == LIMITREE_OK, "an ordinary request allocates", 0);
  const std::string put_name = "put";
  const std::string put_node = "{children: {'*': {limits: 5/day}}}";
  starve("limiter_put", [&](limitree_error** error) {
    return limitree_limiter_put(
        limiter, str(put_name), str(put_node), str(put_name),
        LIMITREE_REPLACE_NONE | LIMITREE_NO_FILES, error);
  });
  starve("limiter_remove", [&](limitree_error** error) {
    return limitree_limiter_remove(limiter, str(put_name), error);
  });
  const auto ignore = [](const limitree_counter*, limitree_str, std::int64_t,
                         void*) {};
  for (std::size_t i = 0; i < 8; ++i) {
    starve("each_counter", [&](limitree_error** error) {
      return limitree_limiter_each_counter(limiter, 1u << i, ignore, nullptr,
                                           error);
    });
  }
  limitree_limiter_free(limiter);
  limitree_config_free(config);

  limitree_str networks[20];  // more than fit without an allocation
  const std::string network = "10.0.0.0/8";
  for (limitree_str& one : networks) one = str(network);
  limitree_proxies* proxies = nullptr;
  starve("proxies_new", [&](limitree_error** error) {
    return limitree_proxies_new(0, 0, networks, 20, 64, &proxies, error);
  });
  const std::string peer = "10.0.0.1";
  limitree_str lines[20];
  for (limitree_str& line : lines) line = str(peer);
  limitree_ip ip;
  starve("client_ip", [&](limitree_error** error) {
    return limitree_client_ip(proxies, str(peer), lines, 20, &ip, error);
  });
  expect(ip.believed == 20, "not all entries were followed", 0);
  limitree_proxies_free(proxies);
  return g_failures != 0;
}
