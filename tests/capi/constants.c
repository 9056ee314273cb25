/*
 * Constants, sizes and offsets, which linked programs have compiled into them.
 * The comparison of recorded interfaces does not see values; this test does.
 */
#include <limitree.h>
#include <stddef.h>

#define SAME(name, number) typedef char same_##name[(name) == (number) ? 1 : -1]
#define SIZE(type, bytes) \
  typedef char size_of_##type[sizeof(type) == (bytes) ? 1 : -1]
#define LIES(type, field, bytes) \
  typedef char lies_##type##_##field[offsetof(type, field) == (bytes) ? 1 : -1]

SAME(LIMITREE_OK, 0);
SAME(LIMITREE_PENDING, 1);
SAME(LIMITREE_INVALID_ARGUMENT, -1);
SAME(LIMITREE_INVALID_CONFIG, -2);
SAME(LIMITREE_OUT_OF_MEMORY, -3);
SAME(LIMITREE_STORE_UNAVAILABLE, -4);
SAME(LIMITREE_STORE_TIMEOUT, -5);
SAME(LIMITREE_STORE_PROTOCOL, -6);
SAME(LIMITREE_CANCELLED, -7);
SAME(LIMITREE_UNKNOWN_ROOT, -8);
SAME(LIMITREE_INTERNAL, -9);

SAME(LIMITREE_UNLIMITED, 1u << 0);
SAME(LIMITREE_SHADOWED, 1u << 1);
SAME(LIMITREE_DEGRADED, 1u << 2);
SAME(LIMITREE_CACHED, 1u << 3);
SAME(LIMITREE_SOFT, 1u << 4);
SAME(LIMITREE_FORGOT, 1u << 5);

SAME(LIMITREE_SOURCE_STORE, 0);
SAME(LIMITREE_SOURCE_DENY_CACHE, 1);
SAME(LIMITREE_SOURCE_LOCAL, 2);
SAME(LIMITREE_SOURCE_ALLOW, 3);
SAME(LIMITREE_SOURCE_DENY, 4);

SAME(LIMITREE_REPLACE_NONE, 0);
SAME(LIMITREE_REPLACE_ANY, 1);
SAME(LIMITREE_REPLACE_ADDED, 2);

SAME(LIMITREE_ENFORCE, 0);
SAME(LIMITREE_SHADOW, 1);
SAME(LIMITREE_CHECK, 2);

SAME(LIMITREE_AUTHORIZE, 0);
SAME(LIMITREE_PEEK, 1);
SAME(LIMITREE_SPEND, 2);
SAME(LIMITREE_REFUND, 3);
SAME(LIMITREE_LOOK, 4);

SAME(LIMITREE_PART_CHARGE, 0);
SAME(LIMITREE_PART_SPEND_IF_FITS, 1);
SAME(LIMITREE_PART_CHECK, 2);

SAME(LIMITREE_MAX_PATHS, 4096);
SAME(LIMITREE_MAX_LEVELS, 4096);

SAME(LIMITREE_UNIT_UNKNOWN, 0);
SAME(LIMITREE_UNIT_SECOND, 1);
SAME(LIMITREE_UNIT_MINUTE, 2);
SAME(LIMITREE_UNIT_HOUR, 3);
SAME(LIMITREE_UNIT_DAY, 4);
SAME(LIMITREE_UNIT_MONTH, 5);
SAME(LIMITREE_UNIT_YEAR, 6);
SAME(LIMITREE_UNIT_WEEK, 7);

SAME(LIMITREE_HAS_HITS_ADDEND, 1u << 0);
SAME(LIMITREE_HAS_LIMIT, 1u << 1);
SAME(LIMITREE_NEGATIVE_HITS, 1u << 2);
SAME(LIMITREE_WANTS_METADATA, 1u << 0);

SAME(LIMITREE_CODE_OK, 1);
SAME(LIMITREE_CODE_OVER_LIMIT, 2);

SAME(LIMITREE_MATCH_NONE, 0);
SAME(LIMITREE_MATCH_UNLIMITED, 1);
SAME(LIMITREE_MATCH_REPLACED, 2);
SAME(LIMITREE_MATCH_LIMIT, 3);

SAME(LIMITREE_X_FORWARDED_FOR, 0);
SAME(LIMITREE_FORWARDED, 1);

SAME(LIMITREE_NEVER, INT64_MAX);
SIZE(limitree_status, 4);

SIZE(limitree_rate, 128);
LIES(limitree_rate, count, 0);
LIES(limitree_rate, period_ns, 8);
LIES(limitree_rate, burst, 16);
LIES(limitree_rate, size, 24);
LIES(limitree_rate, name, 32);

SIZE(limitree_file, 2 * sizeof(limitree_str));
SIZE(limitree_entry, 2 * sizeof(limitree_str));

SIZE(limitree_ip, 64);
LIES(limitree_ip, text, 0);
LIES(limitree_ip, size, 48);
LIES(limitree_ip, version, 52);
LIES(limitree_ip, believed, 56);

#if UINTPTR_MAX == UINT64_MAX
SIZE(limitree_str, 16);
LIES(limitree_str, data, 0);
LIES(limitree_str, size, 8);

SIZE(limitree_decision, 80);
LIES(limitree_decision, limit, 0);
LIES(limitree_decision, remaining, 8);
LIES(limitree_decision, retry_after_ns, 16);
LIES(limitree_decision, reset_after_ns, 24);
LIES(limitree_decision, next_after_ns, 32);
LIES(limitree_decision, limited, 40);
LIES(limitree_decision, flags, 44);
LIES(limitree_decision, level, 48);
LIES(limitree_decision, level_count, 52);
LIES(limitree_decision, source, 56);
LIES(limitree_decision, reserved_32, 60);
LIES(limitree_decision, binding_reset_after_ns, 64);
LIES(limitree_decision, reserved, 72);

SIZE(limitree_level, 128);
LIES(limitree_level, policy, 0);
LIES(limitree_level, limit, 16);
LIES(limitree_level, remaining, 24);
LIES(limitree_level, retry_after_ns, 32);
LIES(limitree_level, reset_after_ns, 40);
LIES(limitree_level, next_after_ns, 48);
LIES(limitree_level, window_ns, 56);
LIES(limitree_level, cost, 64);
LIES(limitree_level, limited, 72);
LIES(limitree_level, charged, 76);
LIES(limitree_level, mode, 80);
LIES(limitree_level, path, 84);
LIES(limitree_level, soft, 88);
LIES(limitree_level, grows_after_ns, 96);
LIES(limitree_level, reserved, 104);

SIZE(limitree_descriptor, 64);
LIES(limitree_descriptor, entries, 0);
LIES(limitree_descriptor, entry_count, 8);
LIES(limitree_descriptor, flags, 16);
LIES(limitree_descriptor, requests_per_unit, 20);
LIES(limitree_descriptor, unit, 24);
LIES(limitree_descriptor, reserved_32, 28);
LIES(limitree_descriptor, hits_addend, 32);
LIES(limitree_descriptor, reserved, 40);

SIZE(limitree_envoy_request, 64);
LIES(limitree_envoy_request, domain, 0);
LIES(limitree_envoy_request, descriptors, 16);
LIES(limitree_envoy_request, descriptor_count, 24);
LIES(limitree_envoy_request, hits_addend, 32);
LIES(limitree_envoy_request, flags, 36);
LIES(limitree_envoy_request, reserved, 40);

SIZE(limitree_descriptor_status, 128);
LIES(limitree_descriptor_status, code, 0);
LIES(limitree_descriptor_status, match, 4);
LIES(limitree_descriptor_status, name, 8);
LIES(limitree_descriptor_status, requests_per_unit, 24);
LIES(limitree_descriptor_status, unit, 28);
LIES(limitree_descriptor_status, period_ns, 32);
LIES(limitree_descriptor_status, limit_remaining, 40);
LIES(limitree_descriptor_status, duration_until_reset_ns, 48);
LIES(limitree_descriptor_status, retry_after_ns, 56);
LIES(limitree_descriptor_status, reset_after_ns, 64);
LIES(limitree_descriptor_status, flags, 72);
LIES(limitree_descriptor_status, quota, 76);
LIES(limitree_descriptor_status, reserved, 80);

SIZE(limitree_envoy_response, 64);
LIES(limitree_envoy_response, overall_code, 0);
LIES(limitree_envoy_response, header_status, 4);
LIES(limitree_envoy_response, status_count, 8);
LIES(limitree_envoy_response, source, 16);
LIES(limitree_envoy_response, flags, 20);
LIES(limitree_envoy_response, metadata, 24);
LIES(limitree_envoy_response, reserved, 32);

SIZE(limitree_descriptor_stats, 128);
LIES(limitree_descriptor_stats, key, 0);
LIES(limitree_descriptor_stats, total_hits, 16);
LIES(limitree_descriptor_stats, over_limit, 24);
LIES(limitree_descriptor_stats, near_limit, 32);
LIES(limitree_descriptor_stats, over_limit_with_local_cache, 40);
LIES(limitree_descriptor_stats, within_limit, 48);
LIES(limitree_descriptor_stats, shadow_mode, 56);
LIES(limitree_descriptor_stats, total_negative_hits, 64);
LIES(limitree_descriptor_stats, domain_not_found, 72);
LIES(limitree_descriptor_stats, reserved, 80);

SIZE(limitree_envoy_stats, 128);
LIES(limitree_envoy_stats, ok, 0);
LIES(limitree_envoy_stats, over_limit, 8);
LIES(limitree_envoy_stats, global_shadow_mode, 16);
LIES(limitree_envoy_stats, service_errors, 24);
LIES(limitree_envoy_stats, store_errors, 32);
LIES(limitree_envoy_stats, metric_keys, 40);
LIES(limitree_envoy_stats, over_cache_lookups, 48);
LIES(limitree_envoy_stats, over_cache_hits, 56);
LIES(limitree_envoy_stats, over_cache_entries, 64);
LIES(limitree_envoy_stats, over_cache_evictions, 72);
LIES(limitree_envoy_stats, reserved, 80);

SIZE(limitree_completion, 104);
LIES(limitree_completion, request, 0);
LIES(limitree_completion, error, 8);
LIES(limitree_completion, decision, 16);
LIES(limitree_completion, status, 96);

SIZE(limitree_path, 24);
LIES(limitree_path, segments, 0);
LIES(limitree_path, size, 8);
LIES(limitree_path, cost, 16);

SIZE(limitree_stats, 256);
LIES(limitree_stats, allowed, 0);
LIES(limitree_stats, limited, 8);
LIES(limitree_stats, shadow_limited, 16);
LIES(limitree_stats, errors, 24);
LIES(limitree_stats, reloads, 32);
LIES(limitree_stats, limits, 40);
LIES(limitree_stats, buckets, 48);
LIES(limitree_stats, max_buckets, 56);
LIES(limitree_stats, store_bytes, 64);
LIES(limitree_stats, evictions, 72);
LIES(limitree_stats, from_deny_cache, 80);
LIES(limitree_stats, from_local, 88);
LIES(limitree_stats, from_allow, 96);
LIES(limitree_stats, from_deny, 104);
LIES(limitree_stats, store_errors, 112);
LIES(limitree_stats, connects, 120);
LIES(limitree_stats, round_trips, 128);
LIES(limitree_stats, round_trip_ns, 136);
LIES(limitree_stats, soft, 144);
LIES(limitree_stats, forgotten_limited, 152);

SIZE(limitree_reason_stats, 64);
LIES(limitree_reason_stats, reason, 0);
LIES(limitree_reason_stats, errors, 8);
LIES(limitree_reason_stats, troubles, 16);

SIZE(limitree_round_trips, 256);
LIES(limitree_round_trips, below_ns, 0);
LIES(limitree_round_trips, count, 128);

SIZE(limitree_limit_stats, 128);
LIES(limitree_limit_stats, policy, 0);
LIES(limitree_limit_stats, allowed, 16);
LIES(limitree_limit_stats, limited, 24);
LIES(limitree_limit_stats, shadow_limited, 32);
LIES(limitree_limit_stats, near_limit, 40);
LIES(limitree_limit_stats, soft, 48);

SIZE(limitree_store_file, 128);
LIES(limitree_store_file, path, 0);
LIES(limitree_store_file, version, 16);
LIES(limitree_store_file, bytes, 24);
LIES(limitree_store_file, processes, 32);
#endif

int main(void) { return 0; }
