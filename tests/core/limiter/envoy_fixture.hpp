// A limiter for requests of Envoy, and requests and answers as short texts.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/fake_store.hpp"
#include "descriptors/descriptors.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree {

inline std::shared_ptr<const Descriptors> descriptors_of(
    std::string_view yaml) {
  const DescriptorFile file{yaml, "d.yaml"};
  Result<Descriptors> made = load_descriptors({&file, 1});
  if (!made.ok()) {
    ADD_FAILURE() << made.status().error().messages.front();
    return std::make_shared<const Descriptors>();
  }
  return std::make_shared<const Descriptors>(std::move(made.value()));
}

// A request: "a=1", "b=2,c=3", or with what follows a ';': hits=5, limit=3/2
// (a unit by its number), or limit=3/2/10 with its multiplier, back.
class EnvoyRequest {
 public:
  EnvoyRequest(std::string_view domain, const std::vector<std::string>& texts) {
    request_.domain = domain;
    for (const std::string& text : texts) add(text);
    request_.descriptors = asked_;
  }

  DescriptorRequest& get() { return request_; }

 private:
  static std::pair<std::string_view, std::string_view> split(
      std::string_view text, char at) {
    const std::size_t end = text.find(at);
    if (end == text.npos) return {text, {}};
    return {text.substr(0, end), text.substr(end + 1)};
  }

  void add(const std::string& text) {
    const std::string& kept = texts_.emplace_back(text);
    auto [entries, rest] = split(kept, ';');
    std::vector<Entry>& list = entries_.emplace_back();
    while (!entries.empty()) {
      const auto [entry, others] = split(entries, ',');
      const auto [key, value] = split(entry, '=');
      list.push_back({key, value});
      entries = others;
    }
    RequestDescriptor& asked = asked_.emplace_back();
    asked.entries = list;
    while (!rest.empty()) {
      const auto [part, others] = split(rest, ';');
      const auto [name, value] = split(part, '=');
      const auto [number, length] = split(value, '/');
      const auto [unit, multiplier] = split(length, '/');
      if (name == "hits") asked.hits_addend = std::stoull(std::string(number));
      if (name == "back") asked.is_negative_hits = true;
      if (name == "limit") {
        asked.limit = RequestLimit{
            static_cast<std::uint32_t>(std::stoul(std::string(number))),
            std::stoi(std::string(unit))};
        if (!multiplier.empty()) {
          asked.limit->unit_multiplier =
              static_cast<std::uint32_t>(std::stoul(std::string(multiplier)));
        }
      }
      rest = others;
    }
  }

  std::deque<std::string> texts_;
  std::deque<std::vector<Entry>> entries_;
  std::vector<RequestDescriptor> asked_;
  DescriptorRequest request_;
};

// "OVER: ok 3, over 0, -": the overall code; for each descriptor, if it has a
// limit, its code and what is left.
inline std::string text_of(const EnvoyAnswer& answer) {
  const auto name = [](LimitCode code, const char* ok, const char* over) {
    return code == LimitCode::kOk ? ok : over;
  };
  std::string text = name(answer.overall, "OK:", "OVER:");
  for (const DescriptorStatus& status : answer.statuses) {
    text += &status == answer.statuses.begin() ? " " : ", ";
    text += status.match == Match::kLimited
                ? name(status.code, "ok ", "over ") +
                      std::to_string(status.remaining)
                : "-";
  }
  return text;
}

class EnvoyTest : public testing::Test {
 protected:
  // In memory, or if `remote` over a store that the test controls.
  void make(std::string_view yaml, bool remote = false) {
    options.clock = clock.clock();
    std::unique_ptr<Store> made;
    if (remote) {
      store = new FakeStore(&clock);
      made = behind_guards(std::unique_ptr<Store>(store), options);
    } else {
      made = std::make_unique<MemoryStore>(1000, options.clock);
    }
    limiter.emplace(std::make_shared<const Tree>(), options, std::move(made),
                    descriptors_of(yaml));
  }

  std::string path_cost(const std::vector<std::string>& descriptors,
                        Purpose purpose = Purpose::kCount) {
    EnvoyRequest request("d", descriptors);
    request.get().purpose = purpose;
    const Status status = limiter->should_rate_limit(request.get(), &answer);
    return status.ok() ? text_of(answer) : status.error().messages.front();
  }

  std::string peek(const std::vector<std::string>& descriptors) {
    return path_cost(descriptors, Purpose::kPeek);
  }

  std::string reset(const std::vector<std::string>& descriptors) {
    EnvoyRequest request("d", descriptors);
    const Status status = limiter->reset(request.get());
    return status.ok() ? "" : status.error().messages.front();
  }

  HitTally tally(std::string_view key) {
    for (const MetricStats& one : limiter->metric_stats()) {
      if (one.key == key) return one.tally;
    }
    return {};
  }

  ManualClock clock;
  Options options;
  FakeStore* store = nullptr;
  std::optional<Limiter> limiter;
  EnvoyAnswer answer;
};

}  // namespace limitree
