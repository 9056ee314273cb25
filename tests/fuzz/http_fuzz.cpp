// The bytes of a connection of HTTP/1.1, from the requests to the answers of
// /v1 and /json.
//
// However the bytes are cut into pieces, the requests are the same.  Each body
// is read as a request of /v1 and of /json, and what it asks is decided.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_reader.hpp"
#include "json/document.hpp"
#include "limitree.hpp"
#include "web/answers.hpp"
#include "web/requests.hpp"

namespace {

using limitree::server::EnvoyJson;
using limitree::server::HttpRequest;
using limitree::server::JsonDocument;
using limitree::server::JsonError;
using limitree::server::PathRequest;
using limitree::server::RequestReader;
using Step = RequestReader::Step;

constexpr limitree::server::RequestLimits kBounds{512, 1024};

constexpr std::string_view kLimits = R"(
schema:
  user:
    children: {"*": {limits: [9/hour, 3/s], children: {t: {limits: 1/s}}}}
  key: {limits: [{count: 9, period: 1s, unit: tokens}]}
  free: {}
)";

constexpr std::string_view kDescriptors = R"(
domain: d
descriptors:
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 3, name: n}
  - key: b
    value: "*x*"
    quota_mode: true
    metadata: {k: [1, {z: null}]}
    rate_limit: {unit: hour, requests_per_unit: 1}
)";

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

limitree::Config config() {
  limitree::Config config;
  config.set_limits(kLimits, "f").set("max_buckets", "1000");
  const limitree_file file{str(kDescriptors), str("d")};
  config.add_descriptors({&file, 1});
  return config;
}

void require(bool fact) {
  if (!fact) std::abort();
}

struct Requests {
  std::vector<std::string> all;  // method, target and body
  std::vector<std::string> bodies;
  int status = 0;

  bool operator==(const Requests&) const = default;
};

// The reader counts the bytes of a target or a field when llhttp has read all
// that a piece has of it.  So the pieces decide which of two faults is found
// first: that the header is too large (431), or a malformed byte in it (400).
int status_of_any_piece(int status) { return status == 431 ? 400 : status; }

Requests read(std::string_view bytes, std::size_t piece) {
  Requests requests;
  HttpRequest request;
  RequestReader reader(&request, kBounds);
  while (!bytes.empty()) {
    // On the heap, so that a sanitizer sees where it ends.
    const std::vector<char> copy(
        bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(
                                           std::min(piece, bytes.size())));
    bytes.remove_prefix(copy.size());
    std::string_view part(copy.data(), copy.size());
    while (!part.empty()) {
      const Step step = reader.next(&part);
      require(request.body.size() <= kBounds.max_body_bytes);
      if (step == Step::kBad) {
        require(reader.status() >= 400 && !reader.reason().empty());
        requests.status = status_of_any_piece(reader.status());
        return requests;
      }
      if (step == Step::kMore) break;
      requests.all.push_back(request.method + ' ' +
                             std::string(request.path()) + '?' +
                             std::string(request.query()));
      requests.bodies.push_back(request.body);
      request.clear();
      if (!reader.keeps_alive()) return requests;
    }
  }
  return requests;
}

void decide(const PathRequest& request, limitree::Limiter* limiter) {
  static std::vector<limitree_level> levels(64);
  for (std::int32_t operation = LIMITREE_AUTHORIZE;
       operation <= LIMITREE_REFUND; ++operation) {
    limitree_decision decision;
    limitree_error* error = nullptr;
    const limitree_status status = limitree_decide_costs(
        limiter->get(), operation, request.paths().data(),
        request.paths().size(), request.costs().data(), request.costs().size(),
        levels.data(), levels.size(), &decision, &error);
    const limitree::ErrorHandle owner(error);
    std::string answer;
    if (status < 0) {
      limitree::server::append_problem(limitree::server::http_status_of(status),
                                       limitree_error_message(error), &answer);
    } else {
      limitree::server::append_decision(
          decision,
          std::span(levels).first(std::min<std::size_t>(
              levels.size(), static_cast<std::size_t>(decision.level_count))),
          true, &answer);
    }
    JsonDocument().read(answer);
  }
}

void ask(const EnvoyJson& json, limitree::Limiter* limiter) {
  limitree_envoy_request request = json.get();
  request.flags |= LIMITREE_WANTS_METADATA;
  std::vector<limitree_descriptor_status> statuses(request.descriptor_count);
  limitree_envoy_response response{};
  const limitree_status status =
      limitree_should_rate_limit(limiter->get(), &request, statuses.data(),
                                 statuses.size(), &response, nullptr);
  if (status < 0) return;
  const limitree::TextHandle metadata(response.metadata);
  limitree::server::AnswerSettings settings;
  settings.headers = true;
  std::string answer;
  limitree::server::append_envoy_answer(response, statuses, settings, &answer);
  JsonDocument().read(answer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static auto* const limiter = new limitree::Limiter(config());
  static PathRequest request;
  static EnvoyJson json;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  const Requests requests = read(bytes, SIZE_MAX);
  require(requests == read(bytes, data[0] % 16 + 1));
  for (const std::string& body : requests.bodies) {
    try {
      request.read(body);
      decide(request, limiter);
    } catch (const JsonError& error) {
      require(*error.what() != '\0');
    }
    try {
      json.read(body);
      ask(json, limiter);
    } catch (const JsonError& error) {
      require(*error.what() != '\0');
    }
    for (const auto use :
         {PathRequest::For::kReset, PathRequest::For::kReservation}) {
      try {
        request.read(body, use);
      } catch (const JsonError& error) {
        require(*error.what() != '\0');
      }
    }
    for (const auto& one : limitree::server::kHoldOperations) {
      try {
        limitree::server::ReceiptJson().read(one, body);
      } catch (const JsonError& error) {
        require(*error.what() != '\0');
      }
    }
  }
  return 0;
}
