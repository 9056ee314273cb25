// The bytes of a call of limitree.v1.Limiter, from the framing to the answer.
//
// However the bytes are cut into pieces, the messages are the same.  Each of
// them is decided, and the answer is a valid message again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "decisions/answers.hpp"
#include "decisions/decider.hpp"
#include "grpc/framing.hpp"
#include "grpc/status.hpp"
#include "limitree.hpp"
#include "services/answers.hpp"
#include "services/requests.hpp"

namespace {

using limitree::server::FrameReader;

constexpr std::size_t kMaxMessage = 4096;

constexpr std::string_view kLimits = R"(
schema:
  user:
    children: {"*": {limits: [9/hour, 3/s], children: {t: {limits: 1/s}}}}
  ip: {key: ip, children: {"*": {limits: 2/s}}}
  key: {limits: [{count: 9, period: 1s, unit: tokens}]}
  free: {}
)";

void require(bool fact) {
  if (!fact) std::abort();
}

struct Messages {
  std::vector<std::string> all;
  FrameReader::Step end = FrameReader::Step::kMore;

  bool operator==(const Messages&) const = default;
};

Messages read(std::string_view bytes, std::size_t piece) {
  Messages messages;
  FrameReader reader;
  while (!bytes.empty()) {
    // On the heap, so that a sanitizer sees where it ends.
    const std::vector<char> copy(
        bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(
                                           std::min(piece, bytes.size())));
    bytes.remove_prefix(copy.size());
    std::string_view part(copy.data(), copy.size());
    while (!part.empty()) {
      messages.end = reader.next(&part, kMaxMessage);
      if (messages.end == FrameReader::Step::kMessage) {
        messages.all.emplace_back(reader.message());
      } else if (messages.end != FrameReader::Step::kMore) {
        return messages;
      }
    }
    require(reader.held() <= kMaxMessage + limitree::server::kFramePrefix);
  }
  return messages;
}

void skim(std::string_view message) {
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (reader.tag_and_type() ==
        protozero::tag_and_type(10,
                                protozero::pbf_wire_type::length_delimited)) {
      const protozero::data_view level = reader.get_view();
      skim({level.data(), level.size()});
    } else {
      reader.skip();
    }
  }
}

void decide(std::string_view message, limitree::Limiter* limiter) {
  static limitree::server::DecideRequest request;
  static std::vector<limitree_level> levels(64);
  request.read(message);
  for (std::int32_t operation = LIMITREE_AUTHORIZE;
       operation <= LIMITREE_REFUND; ++operation) {
    limitree_decision decision;
    limitree_error* error = nullptr;
    const limitree_status status = limitree_decide_costs(
        limiter->get(), operation, request.paths().data(),
        request.paths().size(), request.costs().data(), request.costs().size(),
        levels.data(), levels.size(), &decision, &error);
    const limitree::ErrorHandle owner(error);
    if (status < 0) {
      const auto failed = limitree::server::message_for_client(status, error);
      require(!failed.empty());
      for (const char byte : limitree::server::percent_encode(failed)) {
        require(byte >= ' ' && byte <= '~');
      }
      continue;
    }
    std::string answer;
    limitree::server::write_decision(
        decision,
        std::span(levels).first(std::min<std::size_t>(
            levels.size(), static_cast<std::size_t>(decision.level_count))),
        &answer);
    skim(answer);
  }
}

// A receipt that was not made here is refused, or is of nothing that is held.
void settle(std::string_view message, limitree::Limiter* limiter) {
  static limitree::server::ReceiptMessage request;
  for (const auto& one : limitree::server::kHoldOperations) {
    request.read(one, message);
    const limitree::server::ReceiptHandle receipt =
        limitree::server::read_receipt(request.receipt, nullptr);
    if (receipt == nullptr) continue;
    std::size_t count = 0;
    const limitree_path* const paths =
        limitree_receipt_paths(receipt.get(), &count);
    limitree_decision decision;
    const limitree_status status = limitree_settle(
        limiter->get(), limitree_receipt_hold(receipt.get()), paths, count,
        request.costs.data(), request.costs.size(), &decision, nullptr);
    if (status < 0) continue;
    require(decision.held == 0);
    std::string answer;
    limitree::server::write_settlement(decision, &answer);
    skim(answer);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static auto* const limiter = new limitree::Limiter(
      limitree::Config().set_limits(kLimits, "f").set("max_buckets", "1000"));
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  const Messages messages = read(bytes, SIZE_MAX);
  require(messages == read(bytes, data[0] % 16 + 1));
  for (const std::string& message : messages.all) {
    static_cast<void>(limitree::server::parse_grpc_timeout(message));
    try {
      decide(message, limiter);
      settle(message, limiter);
      limitree::server::DecideRequest().read_reset(message);
    } catch (const protozero::exception&) {
      // The caller gets a status.
    }
  }
  return 0;
}
