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
SAME(LIMITREE_HOLDS, 1u << 6);

SAME(LIMITREE_SOURCE_STORE, 0);
SAME(LIMITREE_SOURCE_DENY_CACHE, 1);
SAME(LIMITREE_SOURCE_LOCAL, 2);
SAME(LIMITREE_SOURCE_ALLOW, 3);
SAME(LIMITREE_SOURCE_DENY, 4);
SAME(LIMITREE_SOURCE_LEASE, 5);

SAME(LIMITREE_REPLACE_NONE, 0);
SAME(LIMITREE_REPLACE_ANY, 1);
SAME(LIMITREE_REPLACE_ADDED, 2);
SAME(LIMITREE_NO_FILES, 1 << 8);

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

SAME(LIMITREE_CLIENT_CLUSTER, 1);

SAME(LIMITREE_REPLY_TEXT, 0);
SAME(LIMITREE_REPLY_OTHER, 1);
SAME(LIMITREE_REPLY_ERROR, 2);
SAME(LIMITREE_REPLY_LOST, 3);
SAME(LIMITREE_REPLY_UNSENT, 4);

SAME(LIMITREE_MAX_PATHS, 4096);
SAME(LIMITREE_MAX_LEVELS, 4096);

SAME(LIMITREE_SCOPE_SOURCES, 1u << 0);
SAME(LIMITREE_SCOPE_REQUESTS, 1u << 1);
SAME(LIMITREE_SCOPE_LIMITS, 1u << 2);
SAME(LIMITREE_SCOPE_REASONS, 1u << 3);
SAME(LIMITREE_SCOPE_ROUND_TRIPS, 1u << 4);
SAME(LIMITREE_SCOPE_STORE, 1u << 5);
SAME(LIMITREE_SCOPE_ENVOY, 1u << 6);
SAME(LIMITREE_SCOPE_RULES, 1u << 7);

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
SAME(LIMITREE_ONLY_PEEKS, 1u << 1);
SAME(LIMITREE_ONLY_LOOKS, 1u << 2);

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
LIES(limitree_rate, algorithm, 28);
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

SIZE(limitree_command, 96);
LIES(limitree_command, token, 0);
LIES(limitree_command, bytes, 8);
LIES(limitree_command, words, 24);
LIES(limitree_command, word_count, 32);
LIES(limitree_command, first_key, 40);
LIES(limitree_command, timeout_ns, 48);
LIES(limitree_command, reserved, 56);

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
LIES(limitree_decision, held, 60);
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
LIES(limitree_level, unit, 104);
LIES(limitree_level, reserved, 120);

SIZE(limitree_hold, 32);
LIES(limitree_hold, reserved, 16);

SIZE(limitree_cost, 24);
LIES(limitree_cost, unit, 0);
LIES(limitree_cost, units, 16);

SIZE(limitree_descriptor, 64);
LIES(limitree_descriptor, entries, 0);
LIES(limitree_descriptor, entry_count, 8);
LIES(limitree_descriptor, flags, 16);
LIES(limitree_descriptor, requests_per_unit, 20);
LIES(limitree_descriptor, unit, 24);
LIES(limitree_descriptor, unit_multiplier, 28);
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
LIES(limitree_descriptor_status, unit_multiplier, 80);
LIES(limitree_descriptor_status, reserved_32, 84);
LIES(limitree_descriptor_status, reserved, 88);

SIZE(limitree_envoy_response, 64);
LIES(limitree_envoy_response, overall_code, 0);
LIES(limitree_envoy_response, header_status, 4);
LIES(limitree_envoy_response, status_count, 8);
LIES(limitree_envoy_response, source, 16);
LIES(limitree_envoy_response, flags, 20);
LIES(limitree_envoy_response, metadata, 24);
LIES(limitree_envoy_response, reserved, 32);

SIZE(limitree_completion, 104);
LIES(limitree_completion, request, 0);
LIES(limitree_completion, error, 8);
LIES(limitree_completion, decision, 16);
LIES(limitree_completion, status, 96);

SIZE(limitree_path, 32);
LIES(limitree_path, segments, 0);
LIES(limitree_path, size, 8);
LIES(limitree_path, cost, 16);
LIES(limitree_path, part, 24);

SIZE(limitree_counter, 64);
LIES(limitree_counter, name, 0);
LIES(limitree_counter, help, 8);
LIES(limitree_counter, label, 16);
LIES(limitree_counter, scope, 24);
LIES(limitree_counter, is_gauge, 28);
LIES(limitree_counter, reserved, 32);

SIZE(limitree_store_file, 128);
LIES(limitree_store_file, path, 0);
LIES(limitree_store_file, version, 16);
LIES(limitree_store_file, bytes, 24);
LIES(limitree_store_file, processes, 32);
#endif

int main(void) { return 0; }
