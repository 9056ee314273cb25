// What an answer tells Envoy's access log and filters: the request again, and
// the metadata of the rules that allowed it.

#ifndef LIMITREE_DESCRIPTORS_DYNAMIC_METADATA_HPP
#define LIMITREE_DESCRIPTORS_DYNAMIC_METADATA_HPP

#include <string>

#include "descriptors/answer.hpp"
#include "descriptors/request.hpp"
#include "descriptors/rule_hits.hpp"

namespace limitree {

// Returns one line of JSON:
//
//   {"domain":"d","descriptors":[{"entries":["k=v"],"limit":
//   "requests_per_unit:5 unit:HOUR","hitsAddend":2}],"hitsAddend":1,
//   "metadata":{...}}
//
// Members that the request or the rules lack are left out.  The metadata of
// descriptors that are OK are joined; of two values of a name, the first stays.
std::string dynamic_metadata(const DescriptorRequest& request,
                             const RuleHits& hits, const EnvoyAnswer& answer);

}  // namespace limitree

#endif  // LIMITREE_DESCRIPTORS_DYNAMIC_METADATA_HPP
