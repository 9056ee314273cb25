// A limits.yaml that nobody thought of.
//
// Whatever the text: it is refused with messages of one line each, or gives a
// tree that keeps its promises and can be described and walked.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "tree/schema.hpp"

namespace {

using limitree::Limit;
using limitree::Plan;
using limitree::Result;
using limitree::Tree;

void require(bool fact) {
  if (!fact) std::abort();
}

// A mistake may also lie in a file of overrides, whose name comes first.
void check_message(std::string_view message) {
  require(message.find(':') != message.npos);
  for (std::size_t i = 0; i < message.size();) {
    const std::size_t size = limitree::utf8_size(message.substr(i));
    require(size > 0 && static_cast<unsigned char>(message[i]) >= 0x20);
    i += size;
  }
}

void check_limit(const Limit& limit) {
  require(limit.count >= 1 && limit.cost >= 0);
  require(limit.rate.capacity >= 1);
  require(limit.rate.emission_interval.count() >= 1);
  require(limit.rate.burst_offset() <= limitree::kMaxBurstOffset);
  require(limit.policy.view().ends_with(limit.name_suffix()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Files that it names are there, and say nothing.
  const limitree::ReadFile read = [](const std::string&, std::size_t) {
    return Result<std::string>(std::string("id,limits\na,1/s\n"));
  };
  Result<Tree> loaded = limitree::load_tree(text, "f", read);
  if (!loaded.ok()) {
    for (const std::string& message : loaded.status().error().messages) {
      check_message(message);
    }
    return 0;
  }
  const Tree& tree = loaded.value();
  std::uint32_t index = 0;
  for (const std::span<const Limit> limits : tree.limits()) {
    for (const Limit& limit : limits) {
      require(limit.index == index++);
      check_limit(limit);
    }
  }
  require(index == tree.index_end() && index == tree.limit_count());

  // The top-level names are the lines that are not indented.
  const std::string description = tree.describe();
  const std::string_view first = description;
  const std::string_view name =
      first.substr(0, std::min(first.find(' '), first.find('\n')));
  for (const std::string_view second : {"", "a", "10.0.0.1", "::1"}) {
    const std::vector<std::string_view> path = {name, second, "trade"};
    Plan plan(limitree::Operation::kPeek);
    const bool matched = tree.match(path, 1, &plan).ok();
    require(matched == tree.explain(path).ok());
    require(matched || plan.levels.empty());
  }
  return 0;
}
