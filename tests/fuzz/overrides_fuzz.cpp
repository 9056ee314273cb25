// A file of overrides that nobody thought of, for ids of every kind.
//
// The first line of the input is the key and whether the rest is a .csv or a
// .yaml; whatever follows is refused with messages of one line each, or gives
// a tree.  The same lines are then walked as ids: a canonical id is its own.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "tree/key_kind.hpp"
#include "tree/schema.hpp"

namespace {

using limitree::CanonicalId;
using limitree::Key;
using limitree::Plan;
using limitree::ReadFile;
using limitree::Result;
using limitree::Tree;

constexpr std::string_view kKeys[] = {"text",     "ip",      "cidr4/24",
                                      "cidr6",    "integer", "domain",
                                      "fqdn_set", "hex",     "tier"};

void require(bool fact) {
  if (!fact) std::abort();
}

void check_message(std::string_view message) {
  require(message.starts_with("f."));
  for (std::size_t i = 0; i < message.size();) {
    const std::size_t size = limitree::utf8_size(message.substr(i));
    require(size > 0 && static_cast<unsigned char>(message[i]) >= 0x20);
    i += size;
  }
}

void check_id(std::string_view key, std::string_view id) {
  const Key kind = limitree::parse_key(key).value();
  CanonicalId once;
  if (once.set(kind, id) != nullptr) return;
  CanonicalId again;
  require(again.set(kind, once.view()) == nullptr);
  require(again.view() == once.view());
}

void walk(const Tree& tree, std::string_view id) {
  const std::vector<std::string_view> path = {"r", id};
  Plan plan(limitree::Operation::kPeek);
  const bool matched = tree.match(path, 1, &plan).ok();
  require(matched == tree.explain(path).ok());
  require(matched || plan.levels.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const std::string_view key = kKeys[data[0] % std::size(kKeys)];
  const std::string name = data[0] >= 128 ? "f.yaml" : "f.csv";
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  const ReadFile read = [text](const std::string&, std::size_t) {
    return Result<std::string>(std::string(text));
  };
  const std::string yaml = "schema: {r: {key: " + std::string(key) +
                           ", overrides: " + name +
                           ", children: {\"*\": {limits: 1/s}}}}";
  Result<Tree> tree = limitree::load_tree(yaml, "limits.yaml", read);
  if (!tree.ok()) {
    for (const std::string& message : tree.status().error().messages) {
      check_message(message);
    }
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find_first_of(",\n:"));
    check_id(key, line);
    if (tree.ok()) walk(tree.value(), line);
    rest.remove_prefix(line.size() == rest.size() ? line.size()
                                                  : line.size() + 1);
  }
  return 0;
}
