// Files of envoyproxy/ratelimit that nobody thought of.
//
// The input is files with zero bytes between them; all but the first two may
// add to domains of others.  They are refused with messages of one line each,
// or answer every descriptor made of their own words.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "descriptors/descriptors.hpp"
#include "descriptors/request.hpp"

namespace {

using limitree::DescriptorFile;
using limitree::Descriptors;
using limitree::Domain;
using limitree::Entry;
using limitree::Match;
using limitree::MatchedRequest;
using limitree::RequestDescriptor;

void require(bool fact) {
  if (!fact) std::abort();
}

void check_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = limitree::utf8_size(text.substr(i));
    require(size > 0 && static_cast<unsigned char>(text[i]) >= 0x20);
    i += size;
  }
}

// Words of `text`, two by two.
std::vector<Entry> entries_of(std::string_view text) {
  constexpr std::string_view kBetween = " \n{}[]:,'\"";
  std::vector<std::string_view> words;
  while (words.size() < 64) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) break;
    words.push_back(text.substr(0, text.find_first_of(kBetween)));
    text.remove_prefix(words.back().size());
  }
  std::vector<Entry> entries;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    entries.push_back({words[i - 1], words[i]});
  }
  return entries;
}

void ask(const Descriptors& descriptors, const Domain& domain,
         const std::vector<Entry>& entries) {
  std::vector<RequestDescriptor> asked;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    asked.push_back({{entries.data() + i,
                      std::min<std::size_t>(entries.size() - i, 1 + i % 4)}});
  }
  if (asked.empty()) return;
  const limitree::DescriptorRequest request{domain.name, asked};
  MatchedRequest matched;
  // What is held may have no name, or several.
  const bool fails = !matched.match(descriptors, request).ok();
  require(!fails || descriptors.any_holds());
  if (fails) return;
  limitree::Plan plan(limitree::Operation::kAuthorize);
  matched.add_levels(&plan);
  std::string room;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const limitree::MatchedDescriptor& one = matched.descriptors()[i];
    require((one.rule_count > 0) == (one.match == Match::kLimited));
    for (std::size_t k = 0; k < one.rule_count; ++k) {
      require(matched.metric_key(i, k, &room).starts_with(domain.name));
    }
    require(!descriptors.explain(domain.name, asked[i].entries).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<DescriptorFile> files;
  for (std::size_t from = 0; from <= text.size() && files.size() < 8;) {
    const std::size_t end = std::min(text.find('\0', from), text.size());
    files.push_back({text.substr(from, end - from), "f", files.size() >= 2});
    from = end + 1;
  }
  limitree::Result<Descriptors> made = limitree::load_descriptors(files);
  if (!made.ok()) {
    for (const std::string& message : made.status().error().messages) {
      require(message.starts_with("f:"));
      check_text(message);
    }
    return 0;
  }
  const Descriptors& descriptors = made.value();
  descriptors.describe();
  for (const Domain& domain : descriptors.domains()) {
    require(descriptors.find(domain.name) == &domain);
    ask(descriptors, domain, entries_of(text));
  }
  return 0;
}
