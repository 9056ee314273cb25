// The content of Boulder's files, and the same as a limits.yaml.

#ifndef LIMITREE_TREE_BOULDER_YAML_HPP
#define LIMITREE_TREE_BOULDER_YAML_HPP

#include <array>
#include <map>
#include <string>
#include <string_view>

namespace limitree {

// One of Boulder's limits, and the form of a path below its name.
struct BoulderName {
  std::string_view text;
  std::string_view key;    // of the id
  std::string_view below;  // of the part after the id; empty: there is none
  bool defaults = true;    // whether Boulder looks at a default
};

inline constexpr std::array<BoulderName, 9> kBoulderNames = {{
    {"NewRegistrationsPerIPAddress", "ip", ""},
    {"NewRegistrationsPerIPv6Range", "cidr6/48", ""},
    {"NewOrdersPerAccount", "integer", ""},
    {"FailedAuthorizationsPerDomainPerAccount", "integer", "text"},
    {"CertificatesPerDomain", "domain", ""},
    {"CertificatesPerDomainPerAccount", "integer", "domain", false},
    {"CertificatesPerFQDNSet", "fqdn_set", ""},
    {"FailedAuthorizationsForPausingPerDomainPerAccount", "integer", "text"},
    {"LimitOverrideRequestsPerIPAddress", "ip", ""},
}};

// "{limits: {burst: 20, count: 20, period: 1s}}"
using BoulderText = std::string;

// From the part after an id, or from nothing, to its limits.
using BoulderBelow = std::map<std::string, BoulderText>;

// What the files say about one name.
struct BoulderLimit {
  BoulderText defaults;
  std::map<std::string, BoulderBelow> ids;
};

using BoulderLimits = std::array<BoulderLimit, kBoulderNames.size()>;

std::string boulder_yaml(const BoulderLimits& limits);

}  // namespace limitree

#endif  // LIMITREE_TREE_BOULDER_YAML_HPP
