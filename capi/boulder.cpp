// Limits of other programs, converted to a limits.yaml.

#include "tree/boulder.hpp"

#include "handles.hpp"

using limitree::Result;
using limitree::Status;
using limitree::capi::guarded;
using limitree::capi::null_argument;
using limitree::capi::view;

limitree_status limitree_limits_from_boulder(limitree_str defaults,
                                             limitree_str defaults_origin,
                                             limitree_str overrides,
                                             limitree_str overrides_origin,
                                             limitree_text** yaml,
                                             limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (yaml == nullptr) return null_argument("yaml");
    const auto first = view(defaults);
    if (!first) return null_argument("defaults.data");
    const auto first_name = view(defaults_origin);
    if (!first_name) return null_argument("defaults_origin.data");
    const auto second = view(overrides);
    if (!second) return null_argument("overrides.data");
    const auto second_name = view(overrides_origin);
    if (!second_name) return null_argument("overrides_origin.data");
    std::vector<std::string> warnings;
    Result<std::string> text = limitree::limits_from_boulder(
        {*first, *first_name}, {*second, *second_name}, &warnings);
    if (!text.ok()) return std::move(text.status());
    *yaml = new limitree_text{std::move(text.value()), std::move(warnings)};
    return {};
  });
}
