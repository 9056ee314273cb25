#pragma once

#include <cstdint>

std::int32_t abi_version_seen_by_b();
