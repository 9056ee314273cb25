#include "caller.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "entries.hpp"
#include "format.hpp"
#include "table.hpp"

namespace limitree::cli {

namespace {

// A request of Envoy with a domain and the entries of its descriptors.
class DescriptorsAsked {
 public:
  explicit DescriptorsAsked(const std::vector<std::string>& path)
      : domain_(path.front()) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      texts_.emplace_back(path[i]);
    }
    // The texts no longer move, nor does what a vector of entries points to.
    for (const EntryTexts& text : texts_) {
      const auto& entries = entries_.emplace_back(text.entries());
      limitree_descriptor& one = descriptors_.emplace_back();
      one.entries = entries.data();
      one.entry_count = entries.size();
    }
    request_.domain = to_str(domain_);
    request_.descriptors = descriptors_.data();
    request_.descriptor_count = descriptors_.size();
  }
  DescriptorsAsked(const DescriptorsAsked&) = delete;
  DescriptorsAsked& operator=(const DescriptorsAsked&) = delete;

  const limitree_envoy_request& get() const { return request_; }

  // What the same request with `hits` would get.
  std::vector<limitree_descriptor_status> look(const Limiter& limiter,
                                               std::uint64_t hits) {
    for (limitree_descriptor& one : descriptors_) {
      one.flags = LIMITREE_HAS_HITS_ADDEND;
      one.hits_addend = hits;
    }
    // These limits may differ from those of the service.
    request_.flags = LIMITREE_ONLY_LOOKS;
    std::vector<limitree_descriptor_status> statuses(descriptors_.size());
    limiter.should_rate_limit(request_, statuses);
    return statuses;
  }

 private:
  const std::string domain_;
  std::vector<EntryTexts> texts_;
  std::vector<std::vector<limitree_entry>> entries_;
  std::vector<limitree_descriptor> descriptors_;
  limitree_envoy_request request_{};
};

// "60 per MINUTE", "60 per 10 MINUTE", "5 per 90s", "10 at once"
std::string limit_title(const limitree_descriptor_status& status) {
  std::string title = std::to_string(status.requests_per_unit);
  if (status.period_ns == 0) {
    title += " at once";
  } else if (status.unit == LIMITREE_UNIT_UNKNOWN) {
    title += " per " + duration_text(status.period_ns);
  } else {
    title += " per ";
    if (status.unit_multiplier != 1) {
      title += std::to_string(status.unit_multiplier) + ' ';
    }
    title += limitree_unit_name(status.unit);
  }
  return title;
}

void add_row(const std::string& descriptor,
             const limitree_descriptor_status& now,
             const limitree_descriptor_status& next, Table* table) {
  if (now.match != LIMITREE_MATCH_LIMIT) {
    table->add_row({{descriptor},
                    {now.match == LIMITREE_MATCH_UNLIMITED  ? "unlimited"
                     : now.match == LIMITREE_MATCH_REPLACED ? "replaced"
                                                            : "no limit"}});
    return;
  }
  const bool is_empty = next.retry_after_ns != -1;
  const Colour colour = is_empty ? Colour::kRed : Colour::kNone;
  // A window has an end even if nothing is counted in it.
  const bool is_full = now.limit_remaining >= now.requests_per_unit;
  table->add_row({{descriptor},
                  {limit_title(now)},
                  {std::to_string(now.limit_remaining), colour},
                  {wait_text(next.retry_after_ns), colour},
                  {is_full ? "-" : duration_text(now.reset_after_ns)}});
}

}  // namespace

std::string descriptors_left(const Limiter& limiter,
                             const std::vector<std::string>& path,
                             const Terminal& terminal) {
  DescriptorsAsked asked(path);
  const std::vector<limitree_descriptor_status> now = asked.look(limiter, 0);
  const std::vector<limitree_descriptor_status> next = asked.look(limiter, 1);
  Table table;
  table.add_column("descriptor", Align::kLeft);
  table.add_column("limit", Align::kLeft);
  table.add_column("left", Align::kRight);
  table.add_column("one more in", Align::kRight);
  table.add_column("full again in", Align::kRight);
  for (std::size_t i = 0; i < now.size(); ++i) {
    add_row(printable(path[i + 1], terminal.utf8), now[i], next[i], &table);
  }
  return table.text(terminal);
}

void reset_descriptors(const Limiter& limiter,
                       const std::vector<std::string>& path) {
  const DescriptorsAsked asked(path);
  limiter.reset_descriptors(asked.get());
}

}  // namespace limitree::cli
