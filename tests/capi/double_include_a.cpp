// One program includes limitree.h twice here and twice in double_include_b.cpp.

#include <limitree.h>
#include <limitree.h>  // NOLINT(readability-duplicate-include)

#include "double_include_b.hpp"

int main() { return limitree_abi_version() == abi_version_seen_by_b() ? 0 : 1; }
