#include "tree/boulder_yaml.hpp"

#include "text/yaml_text.hpp"

namespace limitree {

namespace {

void append_key(std::string_view id, std::string* yaml) {
  const bool simple = id.size() <= kMaxSimpleKey;
  *yaml += simple ? "      " : "      ? ";
  *yaml += yaml_quoted(id);
  *yaml += simple ? ": " : "\n      : ";
}

// "{key: domain, children: {"*": {limits: ...}}}"
std::string below_text(const BoulderName& name, const BoulderBelow& below) {
  std::string text = "{";
  if (name.below != "text") text += "key: " + std::string(name.below) + ", ";
  text += "children: {";
  for (const auto& [id, limits] : below) {
    if (!text.ends_with('{')) text += ", ";
    text += "? " + yaml_quoted(id) + " : " + limits;
  }
  return text + "}}";
}

}  // namespace

std::string boulder_yaml(const BoulderLimits& limits) {
  std::string yaml = "schema:\n";
  for (std::size_t i = 0; i < kBoulderNames.size(); ++i) {
    const BoulderName& name = kBoulderNames[i];
    const BoulderLimit& said = limits[i];
    yaml += "  " + std::string(name.text) + ":";
    if (said.defaults.empty() && said.ids.empty()) {
      yaml += " {}\n";  // no limits
      continue;
    }
    yaml += "\n    key: " + std::string(name.key) + "\n";
    if (name.key == "ip") yaml += "    ipv6_prefix: 128\n";
    yaml += "    children:\n";
    if (!said.defaults.empty()) {
      append_key("*", &yaml);
      yaml += name.below.empty() ? said.defaults
                                 : below_text(name, {{"*", said.defaults}});
      yaml += '\n';
    }
    for (const auto& [id, below] : said.ids) {
      append_key(id, &yaml);
      yaml +=
          name.below.empty() ? below.begin()->second : below_text(name, below);
      yaml += '\n';
    }
  }
  return yaml;
}

}  // namespace limitree
