// Fails each allocation in turn: every call returns a status, nothing is thrown
// across the interface, nothing leaks (ASan), and the limiter works afterwards.

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "limitree.h"

namespace {

long g_allocations_left = std::numeric_limits<long>::max();

// Null if there is none left.
void* try_allocate(std::size_t size, std::size_t alignment) {
  if (g_allocations_left <= 0) return nullptr;
  --g_allocations_left;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size == 0 ? 1 : size) != 0) {
    return nullptr;
  }
  return memory;
}

void* allocate(std::size_t size, std::size_t alignment) {
  void* const memory = try_allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
// std::stable_sort asks for a buffer in this way.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return try_allocate(size, alignof(std::max_align_t));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

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

// ---- calls by way of a client of the program -------------------------------

constexpr std::size_t kCalls = 3;

// Keeps the tokens of what it is to send, without memory.
struct Client {
  std::array<std::uint64_t, 16> tokens{};
  std::size_t sent = 0;
  std::array<int, kCalls> completed{};
  std::size_t done = 0;

  static void send(const limitree_command* command, void* self) {
    auto& client = *static_cast<Client*>(self);
    if (client.sent == client.tokens.size()) return;
    client.tokens[client.sent++] = command->token;
  }
  static void complete(const limitree_completion* completions,
                       std::size_t count, void* self) {
    auto& client = *static_cast<Client*>(self);
    for (std::size_t i = 0; i < count; ++i) {
      ++*static_cast<int*>(completions[i].request);
      ++client.done;
    }
  }
};

limitree_limiter* limiter_with(Client* client) {
  limitree_config* const config = limitree_config_new();
  limitree_limiter* limiter = nullptr;
  limitree_config_set_limits(config, str(kYaml), {}, nullptr);
  limitree_config_set_client(config, Client::send, 0, client, nullptr, nullptr);
  // Calls that found no memory while they were at work wait for this.
  limitree_config_set(config, "timeout", {"30ms", 4}, nullptr);
  limitree_config_set_completion(config, Client::complete, client, nullptr,
                                 nullptr);
  limitree_limiter_new(config, &limiter, nullptr);
  limitree_config_free(config);
  return limiter;
}

// Waits until the loop is to run; false if it would wait for ever.
bool wait_for_loop(limitree_limiter* limiter, bool by_descriptor) {
  pollfd watched = {-1, POLLIN, 0};
  if (by_descriptor) {
    watched.fd = limitree_loop_fd(limiter);
    return poll(&watched, 1, 30'000) == 1;
  }
  const std::int64_t ns = limitree_loop_until_run(limiter);
  if (ns > 0) poll(&watched, 1, static_cast<int>(ns / 1'000'000) + 1);
  return ns >= 0;
}

// Each of some calls ends once, however many allocations the first runs of the
// loop can make, whoever drives it, and whether or not the client answers.
void starve_loop(bool by_descriptor, bool answers) {
  constexpr int kStarvedRuns = 8;  // more than come before the timeout
  bool starved = true;
  for (long allocations = 0; starved && g_failures == 0; ++allocations) {
    Client client;
    limitree_limiter* const limiter = limiter_with(&client);
    if (by_descriptor) limitree_loop_fd(limiter);
    const std::string user = "user", name = "alex";
    const limitree_str path[] = {str(user), str(name)};
    std::array<limitree_decision, kCalls> decisions;
    for (std::size_t i = 0; i < kCalls; ++i) {
      const limitree_status status = limitree_authorize_async(
          limiter, path, 2, 1, &client.completed[i], &decisions[i], nullptr);
      expect(status == LIMITREE_PENDING, "not started", allocations);
    }
    starved = false;
    for (int run = 0; client.done < kCalls; ++run) {
      if (!wait_for_loop(limiter, by_descriptor)) {
        expect(false, "a call never ends", allocations);
        break;
      }
      if (run < kStarvedRuns) g_allocations_left = allocations;
      limitree_loop_run(limiter);
      starved = starved || g_allocations_left == 0;
      g_allocations_left = std::numeric_limits<long>::max();
      for (; answers && client.sent > 0; --client.sent) {
        limitree_client_reply(limiter, client.tokens[client.sent - 1],
                              LIMITREE_REPLY_OTHER, {});
      }
    }
    limitree_limiter_free(limiter);
    for (const int times : client.completed) {
      expect(times == 1, "a call does not end once", allocations);
    }
  }
}

}  // namespace

int main() {
  for (const bool by_descriptor : {false, true}) {
    for (const bool answers : {false, true}) {
      starve_loop(by_descriptor, answers);
    }
  }
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
