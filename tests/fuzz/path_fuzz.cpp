// Paths that nobody thought of, on a tree that has everything.
//
// The input is split into segments at each newline.  Whatever they are: the
// walk ends, and equal bucket names mean equal segments.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/key.hpp"
#include "tree/address.hpp"
#include "tree/schema.hpp"

namespace {

using limitree::Level;
using limitree::Plan;
using limitree::Segment;
using limitree::Tree;

constexpr std::string_view kLimits = R"(
schema:
  user:
    limits: 1000/s
    children:
      carol: {limits: 5/s}
      "a*b": {limits: 6/s}
      "bot-*": {share: true, limits: 7/s}
      "*":
        limits: [1/s, 2/minute]
        children:
          trade: {limits: 3/s}
          "*": {limits: 4/s}
  ip:
    key: ip
    children:
      "10.0.0.0/8": {limits: 1/s, share: true}
      "2001:db8::/80": {limits: 2/s}
      "*": {limits: 3/s, children: {"*": {limits: 1/s}}}
  set: {key: fqdn_set, children: {"*": {limits: 1/s}}}
  plan: {key: tier, children: {"*": {limits: 1/s}, a: {limits: 2/s}}}
  account: {key: integer, children: {"*": {limits: 1/s}}}
)";

void require(bool fact) {
  if (!fact) std::abort();
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> segments;
  while (true) {
    const std::size_t end = text.find('\n');
    segments.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return segments;
    text.remove_prefix(end + 1);
  }
}

// Canonical text is an address that reads as itself.
void check_address(std::string_view text) {
  const auto address = limitree::parse_address(text);
  if (!address) return;
  const limitree::AddressText canonical(*address);
  const auto again = limitree::parse_address(canonical.view());
  require(again.has_value() && *again == *address);
}

void check_names(const Plan& plan) {
  for (const Level& level : plan.levels) {
    require(level.first + level.depth <= plan.segments.size());
    std::string name;
    for (std::uint32_t i = 0; i < level.depth; ++i) {
      const Segment& segment = plan.segments[level.first + i];
      std::string part;
      limitree::append_segment(segment, &part);
      require(!part.empty() && part.size() <= 3 * 200);
      require(part.find_first_of(":{}# ") == std::string::npos);
      name += (i > 0 ? ":" : "") + part;
    }
    require(name + level.limit->suffix.str() == bucket_name(plan, level));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const auto* const tree =
      new Tree(std::move(limitree::load_tree(kLimits, "f").value()));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string_view> segments = split(text);
  for (const std::string_view segment : segments) check_address(segment);

  for (const std::string_view root : {"", "user", "ip", "set", "account"}) {
    std::vector<std::string_view> path = segments;
    if (!root.empty()) path.insert(path.begin(), root);
    Plan plan(limitree::Operation::kPeek);
    const bool matched = tree->match(path, 1, &plan).ok();
    require(matched || (plan.segments.empty() && plan.levels.empty()));
    check_names(plan);
    require(matched == tree->explain(path).ok());
  }
  return 0;
}
