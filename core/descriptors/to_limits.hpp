// Converts descriptors to an equivalent limits.yaml.

#ifndef LIMITREE_DESCRIPTORS_TO_LIMITS_HPP
#define LIMITREE_DESCRIPTORS_TO_LIMITS_HPP

#include <string>
#include <vector>

#include "descriptors/descriptors.hpp"

namespace limitree {

// Returns the text of the limits.yaml, as docs/descriptors.md describes it: a
// path is a domain, and then the key and the value of each entry.
//
// *lost, which may be null, takes a message for each rule, and for each setting
// of a rule, that has no equivalent: "d.yaml:7:9: ...".  Such a rule is left
// out; the text is empty if no domain is left.  If there are none, both allow
// the same requests that have one descriptor, entries as the files name them,
// and one hit. REQUIRES: there is a domain.
std::string limits_from_descriptors(const Descriptors& descriptors,
                                    std::vector<std::string>* lost = nullptr);

}  // namespace limitree

#endif  // LIMITREE_DESCRIPTORS_TO_LIMITS_HPP
