#include "double_include_b.hpp"

#include <limitree.h>
#include <limitree.h>  // NOLINT(readability-duplicate-include)

std::int32_t abi_version_seen_by_b() { return limitree_abi_version(); }
