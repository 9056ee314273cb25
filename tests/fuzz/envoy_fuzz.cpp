// Requests of Envoy: whatever the bytes are, the answer is a valid message with
// a status for each descriptor, or an error; also if they only look, or reset.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "decisions/decider.hpp"
#include "limitree.hpp"
#include "services/answers.hpp"
#include "services/requests.hpp"

namespace {

constexpr std::string_view kDescriptors = R"(
domain: d
descriptors:
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 5}
    descriptors:
      - {key: b, value: x*, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: h, value_to_hold: true, rate_limit: {concurrent: 2, hold: 1m}}
)";

void require(bool fact) {
  if (!fact) std::abort();
}

limitree_str view_of(std::string_view text) {
  return {text.data(), text.size()};
}

std::unique_ptr<limitree::Limiter> make_limiter() {
  limitree::Config config;
  const limitree_file file{view_of(kDescriptors), view_of("d.yaml")};
  config.add_descriptors({&file, 1}, false);
  config.set("max_buckets", "1000");
  return std::make_unique<limitree::Limiter>(config);
}

// Reads the answer again; returns how many statuses it has.
std::size_t count_statuses(std::string_view message) {
  std::size_t count = 0;
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (reader.tag() == 2) ++count;
    reader.skip();
  }
  return count;
}

void ask(const limitree_envoy_request& request, limitree::Limiter* limiter) {
  static const limitree::server::AnswerSettings settings{
      .dynamic_metadata = true, .headers = true};
  std::vector<limitree_descriptor_status> statuses(request.descriptor_count);
  limitree_envoy_response response{};
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_should_rate_limit(limiter->get(), &request, statuses.data(),
                                 statuses.size(), &response, &error);
  const limitree::ErrorHandle error_owner(error);
  const limitree::TextHandle metadata_owner(response.metadata);
  if (status < 0) {
    require(!limitree::server::message_for_client(status, error).empty());
    return;
  }
  std::string answer;
  limitree::server::write_envoy(response, statuses, settings, &answer);
  require(count_statuses(answer) == request.descriptor_count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  // Destroyed in the end: LeakSanitizer does not look into the pages of tables,
  // which own blocks of holds.
  static const auto limiter = make_limiter();
  static limitree::server::EnvoyRequest reader;
  // On the heap, so that a sanitizer sees where it ends.
  const std::vector<char> bytes(data, data + size);
  try {
    reader.read({bytes.data(), bytes.size()});
  } catch (const protozero::exception&) {
    return 0;  // the caller gets a status
  }
  if (reader.is_too_large()) return 0;
  limitree_envoy_request request = reader.get();
  request.flags = LIMITREE_ONLY_PEEKS;
  ask(request, limiter.get());
  request.flags = LIMITREE_WANTS_METADATA;
  ask(request, limiter.get());
  // So that not all counters are over their limits for ever.
  if (size % 16 == 0) {
    limitree_reset_descriptors(limiter->get(), &request, nullptr);
  }
  return 0;
}
