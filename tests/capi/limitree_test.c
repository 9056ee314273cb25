/* limitree.h from C99: every function, every way to misuse it. */

#include "limitree.h"

#include <stdint.h>

#include "check.h"

static int64_t now_ns = INT64_C(1750000000000000000);

static int64_t read_clock(void *user_data) {
  (void)user_data;
  return now_ns;
}

static limitree_str str(const char *text) {
  limitree_str view;
  view.data = text;
  view.size = strlen(text);
  return view;
}

static const char kYaml[] =
    "schema:\n"
    "  user:\n"
    "    children:\n"
    "      \"*\":\n"
    "        limits: [15, 30, 60]\n"
    "        children:\n"
    "          trade: {limits: [5, 10, 15]}\n"
    "          login: {limits: {burst: 2, count: 2, period: 1m, mode: "
    "shadow}}\n"
    "  free: {}\n";

static limitree_limiter *make_limiter(void) {
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  limitree_error *error = NULL;
  CHECK(limitree_config_set_limits(config, str(kYaml), str("limits.yaml"),
                                   &error) == LIMITREE_OK);
  CHECK(limitree_config_set_clock(config, read_clock, NULL, &error) ==
        LIMITREE_OK);
  CHECK(limitree_config_set(config, "max_buckets", str("1000"), &error) ==
        LIMITREE_OK);
  CHECK(limitree_limiter_new(config, &limiter, &error) == LIMITREE_OK);
  CHECK(error == NULL);
  limitree_config_free(config);
  return limiter;
}

static void test_versions(void) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", LIMITREE_VERSION_MAJOR,
           LIMITREE_VERSION_MINOR, LIMITREE_VERSION_PATCH);
  CHECK_TEXT(limitree_version(), version);
  CHECK(limitree_abi_version() == LIMITREE_ABI_VERSION);
  CHECK(strncmp(limitree_openssl_version(), "OpenSSL ", 8) == 0);

  size_t algorithms = 0;
  while (limitree_algorithm_at(algorithms) != NULL) ++algorithms;
  CHECK(algorithms > 1);
  CHECK(strcmp(limitree_algorithm_at(0), "gcra") == 0);
  CHECK(limitree_algorithm_at(SIZE_MAX) == NULL);

  size_t options = 0;
  while (limitree_option_at(options) != NULL) ++options;
  CHECK(options > 1);
  CHECK_TEXT(limitree_option_at(0), "store");
  CHECK(limitree_option_at(SIZE_MAX) == NULL);
}

static void test_names(void) {
  CHECK_TEXT(limitree_status_name(LIMITREE_OK), "ok");
  CHECK_TEXT(limitree_status_name(LIMITREE_PENDING), "pending");
  CHECK_TEXT(limitree_status_name(LIMITREE_INVALID_ARGUMENT),
             "invalid_argument");
  CHECK_TEXT(limitree_status_name(LIMITREE_INVALID_CONFIG), "invalid_config");
  CHECK_TEXT(limitree_status_name(LIMITREE_OUT_OF_MEMORY), "out_of_memory");
  CHECK_TEXT(limitree_status_name(LIMITREE_STORE_UNAVAILABLE),
             "store_unavailable");
  CHECK_TEXT(limitree_status_name(LIMITREE_STORE_TIMEOUT), "store_timeout");
  CHECK_TEXT(limitree_status_name(LIMITREE_STORE_PROTOCOL), "store_protocol");
  CHECK_TEXT(limitree_status_name(LIMITREE_CANCELLED), "cancelled");
  CHECK_TEXT(limitree_status_name(LIMITREE_UNKNOWN_ROOT), "unknown_root");
  CHECK_TEXT(limitree_status_name(LIMITREE_INTERNAL), "internal");
  CHECK_TEXT(limitree_status_name(-12345), "unknown");
  CHECK_TEXT(limitree_source_name(LIMITREE_SOURCE_STORE), "store");
  CHECK_TEXT(limitree_source_name(LIMITREE_SOURCE_DENY_CACHE), "deny_cache");
  CHECK_TEXT(limitree_source_name(LIMITREE_SOURCE_LOCAL), "local");
  CHECK_TEXT(limitree_source_name(LIMITREE_SOURCE_ALLOW), "allow");
  CHECK_TEXT(limitree_source_name(LIMITREE_SOURCE_DENY), "deny");
  CHECK_TEXT(limitree_source_name(LIMITREE_SOURCE_LEASE), "lease");
  CHECK_TEXT(limitree_source_name(-1), "unknown");
  CHECK_TEXT(limitree_source_name(6), "unknown");
  CHECK_TEXT(limitree_mode_name(LIMITREE_ENFORCE), "enforce");
  CHECK_TEXT(limitree_mode_name(LIMITREE_SHADOW), "shadow");
  CHECK_TEXT(limitree_mode_name(LIMITREE_CHECK), "check");
  CHECK_TEXT(limitree_mode_name(-1), "unknown");
  CHECK_TEXT(limitree_mode_name(3), "unknown");
}

static void test_walk_through(void) {
  limitree_limiter *limiter = make_limiter();
  limitree_decision decision;
  int64_t cell[5];
  int i;
  for (i = 0; i < 7; ++i) {
    CHECK(limitree_authorize_action_for_user(limiter, str("alex"), str("trade"),
                                             1, &decision,
                                             NULL) == LIMITREE_OK);
    CHECK(decision.limited == (i == 6));
  }
  limitree_decision_cell(&decision, cell);
  CHECK(cell[0] == 1 && cell[1] == 6 && cell[2] == 0 && cell[3] == 2 &&
        cell[4] == 12);
  CHECK(decision.level == 1 && decision.level_count == 2);
  CHECK(decision.binding_reset_after_ns == 9000000000);
  CHECK(decision.flags == 0);
  CHECK(decision.source == LIMITREE_SOURCE_STORE);
  CHECK(decision.held == 0 && decision.reserved[0] == 0);

  now_ns += decision.retry_after_ns;
  CHECK(limitree_authorize_action_for_user(limiter, str("alex"), str("trade"),
                                           1, &decision, NULL) == LIMITREE_OK);
  CHECK(!decision.limited);
  limitree_limiter_free(limiter);
}

static void test_operations(void) {
  limitree_limiter *limiter = make_limiter();
  const limitree_str path[] = {str("user"), str("kate"), str("trade")};
  limitree_decision decision;
  CHECK(limitree_peek(limiter, path, 3, 1, &decision, NULL) == LIMITREE_OK);
  CHECK(decision.remaining == 5);
  CHECK(limitree_spend(limiter, path, 3, 100, &decision, NULL) == LIMITREE_OK);
  CHECK(!decision.limited && decision.remaining == 0);
  CHECK(limitree_authorize(limiter, path, 3, 7, &decision, NULL) ==
        LIMITREE_OK);
  CHECK(decision.limited && decision.retry_after_ns == LIMITREE_NEVER);
  CHECK(limitree_refund(limiter, path, 3, 2, &decision, NULL) == LIMITREE_OK);
  CHECK(decision.remaining == 2);
  CHECK(limitree_reset(limiter, path, 3, 1, NULL) == LIMITREE_OK);
  CHECK(limitree_authorize(limiter, path, 3, 0, &decision, NULL) ==
        LIMITREE_OK);
  CHECK(decision.limit == 16 && decision.remaining == 2);
  CHECK(limitree_reset(limiter, path, 3, 0, NULL) == LIMITREE_OK);
  CHECK(limitree_authorize(limiter, path, 2, 0, &decision, NULL) ==
        LIMITREE_OK);
  CHECK(decision.remaining == 16);
  limitree_limiter_free(limiter);
}

static void test_unlimited(void) {
  limitree_limiter *limiter = make_limiter();
  const limitree_str path[] = {str("free"), str("anything")};
  limitree_decision decision;
  int64_t cell[5];
  CHECK(limitree_authorize(limiter, path, 2, INT64_MAX, &decision, NULL) ==
        LIMITREE_OK);
  CHECK(decision.flags == LIMITREE_UNLIMITED && decision.level == -1);
  limitree_decision_cell(&decision, cell);
  CHECK(cell[0] == 0 && cell[1] == -1 && cell[2] == -1 && cell[3] == -1 &&
        cell[4] == 0);
  limitree_limiter_free(limiter);
}

static void test_levels(void) {
  limitree_limiter *limiter = make_limiter();
  const limitree_str login[] = {str("user"), str("alex"), str("login")};
  const limitree_str trade[] = {str("user"), str("alex"), str("trade")};
  limitree_path paths[2];
  limitree_level levels[4];
  limitree_decision decision;
  paths[0].segments = login;
  paths[0].size = 3;
  paths[0].cost = 3;
  paths[0].part = LIMITREE_PART_CHARGE;
  paths[1].segments = trade;
  paths[1].size = 3;
  paths[1].cost = 1;
  paths[1].part = LIMITREE_PART_CHARGE;
  memset(levels, 0x55, sizeof levels);
  CHECK(limitree_decide(limiter, LIMITREE_AUTHORIZE, paths, 2, levels, 2,
                        &decision, NULL) == LIMITREE_OK);
  CHECK(!decision.limited && decision.flags == LIMITREE_SHADOWED);
  CHECK(decision.level_count == 3);
  CHECK(levels[0].policy.size == 6 &&
        memcmp(levels[0].policy.data, "user:*", 6) == 0);
  CHECK(levels[0].cost == 3 && levels[0].charged && !levels[0].limited);
  CHECK(levels[0].limit == 16 && levels[0].remaining == 13);
  CHECK(levels[0].window_ns == INT64_C(32000000000));
  CHECK(levels[0].mode == LIMITREE_ENFORCE && levels[0].reserved[0] == 0);
  CHECK(levels[1].mode == LIMITREE_SHADOW && levels[1].limited);
  CHECK(levels[1].retry_after_ns == LIMITREE_NEVER);
  CHECK(levels[0].path == 0 && levels[1].path == 0);
  CHECK(levels[2].limit == INT64_C(0x5555555555555555)); /* beyond capacity */

  CHECK(limitree_decide(limiter, LIMITREE_PEEK, paths, 2, levels, 4, &decision,
                        NULL) == LIMITREE_OK);
  CHECK(levels[2].path == 1 && levels[2].limit == 6);
  CHECK(limitree_decide(limiter, LIMITREE_AUTHORIZE, paths, 2, NULL, 0,
                        &decision, NULL) == LIMITREE_OK);
  CHECK(decision.level_count == 3);
  CHECK(limitree_decide_async(limiter, LIMITREE_PEEK, paths, 2, NULL, NULL, 0,
                              &decision, NULL) == LIMITREE_OK);
  CHECK(limitree_authorize_async(limiter, trade, 3, 1, NULL, &decision, NULL) ==
        LIMITREE_OK);
  CHECK(limitree_loop_fd(limiter) == -1);
  CHECK(limitree_limiter_is_remote(limiter) == 0);
  limitree_loop_run(limiter);
  limitree_loop_set_wakeups(limiter, 0);
  limitree_loop_set_timeout(limiter, 1); /* no store that takes time */
  limitree_limiter_free(limiter);
}

static void test_handles(void) {
  limitree_limiter *first = make_limiter();
  limitree_limiter *second = NULL;
  limitree_limiter *third = NULL;
  limitree_error *error = NULL;
  limitree_decision decision;
  const limitree_str path[] = {{"user", 4}, {"alex", 4}, {"trade", 5}};

  CHECK(limitree_limiter_new_loop(first, NULL, &second, NULL) == LIMITREE_OK);
  CHECK(limitree_limiter_new_loop(second, NULL, &third, &error) == LIMITREE_OK);
  CHECK(error == NULL);
  CHECK(limitree_loop_fd(third) == -1); /* in memory nothing is pending */
  CHECK(limitree_authorize_async(first, path, 3, 1, NULL, &decision, NULL) ==
        LIMITREE_OK);
  limitree_limiter_free(first);
  CHECK(limitree_authorize_async(third, path, 3, 1, NULL, &decision, NULL) ==
        LIMITREE_OK);
  limitree_limiter_free(third);
  CHECK(limitree_authorize(second, path, 3, 1, &decision, NULL) == LIMITREE_OK);
  CHECK(decision.limit - decision.remaining == 3);
  CHECK(limitree_reset_async(second, path, 3, 1, NULL, NULL) == LIMITREE_OK);
  CHECK(limitree_peek(second, path, 3, 0, &decision, NULL) == LIMITREE_OK);
  CHECK(decision.remaining == 6 && decision.limit == 6);

  limitree_limiter_free(second);
}

static void test_parts(void) {
  limitree_limiter *limiter = make_limiter();
  const limitree_str alex[] = {str("user"), str("alex")};
  const limitree_str bob[] = {str("user"), str("bob")};
  limitree_path paths[2];
  limitree_level levels[2];
  limitree_decision decision;
  limitree_error *error = NULL;
  paths[0].segments = alex;
  paths[0].size = 2;
  paths[0].cost = 16;
  paths[0].part = LIMITREE_PART_CHECK;
  paths[1].segments = bob;
  paths[1].size = 2;
  paths[1].cost = 10;
  paths[1].part = LIMITREE_PART_SPEND_IF_FITS;
  CHECK(limitree_decide(limiter, LIMITREE_AUTHORIZE, paths, 2, levels, 2,
                        &decision, NULL) == LIMITREE_OK);
  CHECK(!decision.limited && decision.level_count == 2);
  CHECK(levels[0].mode == LIMITREE_CHECK && !levels[0].charged);
  CHECK(levels[1].mode == LIMITREE_SHADOW && levels[1].charged);
  /* Now bob has 6 left: 10 do not fit, but a shadow limit denies nothing. */
  CHECK(limitree_decide_async(limiter, LIMITREE_AUTHORIZE, paths, 2, NULL,
                              levels, 2, &decision, NULL) == LIMITREE_OK);
  CHECK(!decision.limited && decision.flags == LIMITREE_SHADOWED);
  CHECK(levels[1].limited && !levels[1].charged && levels[1].remaining == 6);
  paths[0].part = paths[1].part = LIMITREE_PART_CHARGE;
  CHECK(limitree_decide(limiter, LIMITREE_AUTHORIZE, paths, 2, levels, 2,
                        &decision, NULL) == LIMITREE_OK);
  CHECK(decision.limited && levels[0].remaining == 16);
  paths[1].part = 3;
  CHECK(limitree_decide(limiter, LIMITREE_AUTHORIZE, paths, 2, NULL, 0,
                        &decision, &error) == LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error), "no part 3") == 0);
  limitree_error_free(error);
  limitree_limiter_free(limiter);
}

static void test_units(void) {
  static const char kUnits[] =
      "schema: {key: {limits: [{name: rpm, count: 3, period: 1m},"
      " {name: tpm, count: 100, period: 1m, unit: tokens}]}}";
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  const limitree_str key = {"key", 3};
  const limitree_path path = {&key, 1, 1, LIMITREE_PART_CHARGE};
  limitree_cost costs[2] = {{{"tokens", 6}, 60}, {{"euro", 4}, 1}};
  limitree_level levels[2];
  limitree_decision decision;
  limitree_error *error = NULL;
  CHECK(limitree_config_set_limits(config, str(kUnits), str("units.yaml"),
                                   NULL) == LIMITREE_OK);
  CHECK(limitree_limiter_new(config, &limiter, NULL) == LIMITREE_OK);
  limitree_config_free(config);
  CHECK(limitree_decide_costs(limiter, LIMITREE_AUTHORIZE, &path, 1, costs, 1,
                              levels, 2, &decision, NULL) == LIMITREE_OK);
  CHECK(!decision.limited && levels[0].remaining == 2);
  CHECK(levels[1].remaining == 40 && levels[1].cost == 60);
  CHECK(levels[0].unit.size == 7 &&
        memcmp(levels[0].unit.data, "request", 7) == 0);
  CHECK(levels[1].unit.size == 6 &&
        memcmp(levels[1].unit.data, "tokens", 6) == 0);
  CHECK(limitree_decide_costs_async(limiter, LIMITREE_AUTHORIZE, &path, 1,
                                    costs, 1, NULL, levels, 2, &decision,
                                    NULL) == LIMITREE_OK);
  CHECK(decision.limited && levels[1].remaining == 40);
  CHECK(limitree_authorize(limiter, &key, 1, 1, &decision, &error) ==
        LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error),
               "key#tpm counts tokens, and the request names none") == 0);
  limitree_error_free(error);
  CHECK(limitree_decide_costs(limiter, LIMITREE_AUTHORIZE, &path, 1, costs, 2,
                              NULL, 0, &decision,
                              &error) == LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error),
               "no limit counts \"euro\", they count tokens") == 0);
  limitree_error_free(error);
  CHECK(limitree_decide_costs(limiter, LIMITREE_AUTHORIZE, &path, 1, NULL, 1,
                              NULL, 0, &decision,
                              &error) == LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error), "costs must not be null") == 0);
  limitree_error_free(error);
  costs[0].unit.data = NULL;
  CHECK(limitree_decide_costs(limiter, LIMITREE_AUTHORIZE, &path, 1, costs, 1,
                              NULL, 0, &decision,
                              &error) == LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error), "unit.data must not be null") ==
        0);
  limitree_error_free(error);
  limitree_limiter_free(limiter);
}

static void test_holds(void) {
  static const char kHolds[] =
      "schema: {key: {limits: ["
      "{name: tpm, count: 100, period: 1m, unit: tokens, hold: 10m},"
      " {name: slots, concurrent: 2, hold: 30s}]}}";
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  const limitree_str key = {"key", 3};
  const limitree_path path = {&key, 1, 1, LIMITREE_PART_CHARGE};
  const limitree_path as_held = {&key, 1, LIMITREE_AS_HELD,
                                 LIMITREE_PART_CHARGE};
  const limitree_path look = {&key, 1, 0, LIMITREE_PART_CHARGE};
  limitree_cost tokens = {{"tokens", 6}, 60};
  limitree_hold hold = {{0, 0}, {1, 1}};
  limitree_hold other;
  limitree_level levels[2];
  limitree_decision decision;
  limitree_error *error = NULL;
  limitree_text *text = NULL;
  limitree_receipt *receipt = NULL;
  const limitree_path *paths = NULL;
  size_t count = 0;
  CHECK(limitree_config_set_limits(config, str(kHolds), str("holds.yaml"),
                                   NULL) == LIMITREE_OK);
  CHECK(limitree_limiter_new(config, &limiter, NULL) == LIMITREE_OK);
  limitree_config_free(config);

  CHECK(limitree_reserve(limiter, &path, 1, &tokens, 1, 0, &hold, levels, 2,
                         &decision, NULL) == LIMITREE_OK);
  CHECK(!decision.limited && decision.held == 2);
  CHECK(levels[0].remaining == 40 && levels[1].remaining == 1);
  CHECK(hold.id[0] != 0 && hold.id[1] != 0 && hold.reserved[0] == 0);
  CHECK(limitree_reserve(limiter, &path, 1, &tokens, 1, 0, &other, NULL, 0,
                         &decision, NULL) == LIMITREE_OK);
  CHECK(decision.limited && decision.held == 0);
  CHECK(memcmp(&hold, &other, sizeof hold) != 0);

  /* Through a receipt, as another process would. */
  CHECK(limitree_receipt_text(&hold, &path, 1, &text, NULL) == LIMITREE_OK);
  CHECK(limitree_receipt_new(limitree_text_str(text), &receipt, NULL) ==
        LIMITREE_OK);
  limitree_text_free(text);
  paths = limitree_receipt_paths(receipt, &count);
  CHECK(count == 1 && paths->size == 1 && paths->cost == LIMITREE_AS_HELD);
  CHECK(memcmp(limitree_receipt_hold(receipt), &hold, sizeof hold) == 0);
  CHECK(limitree_extend(limiter, limitree_receipt_hold(receipt), paths, count,
                        INT64_C(3600000000000), &decision,
                        NULL) == LIMITREE_OK);
  CHECK(decision.held == 2 && decision.reset_after_ns > INT64_C(3500000000000));
  tokens.units = 7;
  CHECK(limitree_settle(limiter, limitree_receipt_hold(receipt), paths, count,
                        &tokens, 1, &decision, NULL) == LIMITREE_OK);
  CHECK(decision.held == 2 && decision.limit == 2 && decision.remaining == 2);
  tokens.units = 0;
  CHECK(limitree_decide_costs(limiter, LIMITREE_LOOK, &look, 1, &tokens, 1,
                              levels, 2, &decision, NULL) == LIMITREE_OK);
  CHECK(levels[0].remaining == 93 && levels[1].remaining == 2);
  tokens.units = 7;
  limitree_receipt_free(receipt);
  CHECK(limitree_cancel(limiter, &hold, &as_held, 1, &decision, NULL) ==
        LIMITREE_OK);
  CHECK(decision.held == 0);

  /* The memory store answers at once. */
  CHECK(limitree_reserve_async(limiter, &path, 1, &tokens, 1, 0, &hold, NULL,
                               levels, 2, &decision, NULL) == LIMITREE_OK);
  CHECK(decision.held == 2 && levels[0].remaining == 86);
  CHECK(limitree_extend_async(limiter, &hold, &path, 1, 1000000000, NULL,
                              &decision, NULL) == LIMITREE_OK);
  CHECK(decision.held == 2);
  CHECK(limitree_settle_async(limiter, &hold, &as_held, 1, NULL, 0, NULL,
                              &decision, NULL) == LIMITREE_OK);
  CHECK(decision.held == 2 && decision.remaining == 2);
  CHECK(limitree_cancel_async(limiter, &hold, &as_held, 1, NULL, &decision,
                              NULL) == LIMITREE_OK);
  CHECK(decision.held == 0);

  CHECK(limitree_reserve(limiter, &path, 1, &tokens, 1,
                         LIMITREE_MAX_HOLD_NS + 1, &hold, NULL, 0, &decision,
                         &error) == LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error),
               "hold must be more than 0 and at most 1d, is "
               "86400.000000001s") == 0);
  limitree_error_free(error);
  CHECK(limitree_settle(limiter, NULL, &path, 1, NULL, 0, &decision, &error) ==
        LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error), "hold must not be null") == 0);
  limitree_error_free(error);
  CHECK(limitree_cancel_async(limiter, NULL, &path, 1, NULL, &decision,
                              &error) == LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error), "hold must not be null") == 0);
  limitree_error_free(error);
  CHECK(limitree_receipt_new(str("lr1.AAAA"), &receipt, &error) ==
        LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error),
               "this is not a receipt of limitree, or it was changed") == 0);
  limitree_error_free(error);
  CHECK(limitree_receipt_hold(NULL) == NULL);
  CHECK(limitree_receipt_paths(NULL, &count) == NULL && count == 0);
  limitree_receipt_free(NULL);
  limitree_limiter_free(limiter);
}

/* Too many paths are refused before any is read: the segments are NULL. */
static void test_too_many_paths(void) {
  static limitree_path paths[LIMITREE_MAX_PATHS + 1];
  limitree_limiter *limiter = make_limiter();
  const limitree_str job[] = {str("user"), str("alex")};
  limitree_decision decision;
  limitree_error *error = NULL;
  size_t i;
  CHECK(limitree_decide(limiter, LIMITREE_AUTHORIZE, paths,
                        LIMITREE_MAX_PATHS + 1, NULL, 0, &decision,
                        &error) == LIMITREE_INVALID_ARGUMENT);
  CHECK(strcmp(limitree_error_message(error),
               "there are 4097 paths, the most is 4096") == 0);
  limitree_error_free(error);
  for (i = 0; i < LIMITREE_MAX_PATHS; ++i) {
    paths[i].segments = job;
    paths[i].size = 2;
    paths[i].cost = 1;
  }
  CHECK(limitree_decide(limiter, LIMITREE_AUTHORIZE, paths, LIMITREE_MAX_PATHS,
                        NULL, 0, &decision, &error) == LIMITREE_OK);
  CHECK(decision.level_count == 1 && decision.remaining == 15);
  limitree_limiter_free(limiter);
}

/* A counter of a label, or the number of values if `name` is NULL. */
typedef struct wanted {
  const char *name;
  const char *label;
  int64_t value;
} wanted;

static void take_counter(const limitree_counter *counter, limitree_str label,
                         int64_t value, void *user_data) {
  wanted *want = user_data;
  if (want->name == NULL) {
    ++want->value;
  } else if (strcmp(counter->name, want->name) == 0 &&
             strlen(want->label) == label.size &&
             (label.size == 0 ||
              memcmp(want->label, label.data, label.size) == 0)) {
    want->value = value;
  }
}

static int64_t count_of(limitree_limiter *limiter, uint32_t scope,
                        const char *label, const char *name) {
  wanted want;
  want.name = name;
  want.label = label;
  want.value = name == NULL ? 0 : -1;
  CHECK(limitree_limiter_each_counter(limiter, scope, take_counter, &want,
                                      NULL) == LIMITREE_OK);
  return want.value;
}

static void test_counters(void) {
  limitree_limiter *limiter = make_limiter();
  const uint32_t requests = LIMITREE_SCOPE_REQUESTS;
  const uint32_t limits = LIMITREE_SCOPE_LIMITS;
  const uint32_t store = LIMITREE_SCOPE_STORE;
  limitree_decision decision;
  int i;
  for (i = 0; i < 8; ++i) {
    limitree_authorize_action_for_user(limiter, str("alex"), str("trade"), 1,
                                       &decision, NULL);
  }
  limitree_authorize(limiter, NULL, 0, 1, &decision, NULL);
  CHECK(count_of(limiter, requests, "", "allowed") == 6);
  CHECK(count_of(limiter, requests, "", "limited") == 2);
  CHECK(count_of(limiter, requests, "", "errors") == 1);
  CHECK(count_of(limiter, requests, "", "limits") == 3);
  CHECK(count_of(limiter, requests, "", "reloads") == 0);
  CHECK(count_of(limiter, requests, "", "buckets") == -1); /* of the store */
  CHECK(count_of(limiter, requests | store, "", "buckets") == 2);
  CHECK(count_of(limiter, store, "", "max_buckets") == 1000);
  CHECK(count_of(limiter, store, "", "store_bytes") > 0);
  CHECK(count_of(limiter, store, "", "evictions") == 0);
  CHECK(count_of(limiter, LIMITREE_SCOPE_SOURCES, "store", "limited") == 2);
  CHECK(count_of(limiter, LIMITREE_SCOPE_SOURCES, "", NULL) == 6 * 2);
  CHECK(count_of(limiter, limits, "", NULL) == 3 * 5);
  CHECK(count_of(limiter, limits, "user:*", "allowed") == 6);
  CHECK(count_of(limiter, limits, "user:*", "limited") == 0);
  CHECK(count_of(limiter, limits, "user:*/trade", "allowed") == 6);
  CHECK(count_of(limiter, limits, "user:*/trade", "limited") == 2);
  CHECK(count_of(limiter, limits, "user:*/trade", "near_limit") == 2);
  CHECK(count_of(limiter, 0, "", NULL) == 0);
  limitree_limiter_free(limiter);
}

/* The option puts limits in shadow, whatever they say. */
static void test_shadow(void) {
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  limitree_decision decision;
  int i;
  CHECK(limitree_config_set_limits(config, str(kYaml), str("limits.yaml"),
                                   NULL) == LIMITREE_OK);
  CHECK(limitree_config_set_clock(config, read_clock, NULL, NULL) ==
        LIMITREE_OK);
  CHECK(limitree_config_set(config, "shadow_mode", str("on"), NULL) ==
        LIMITREE_OK);
  CHECK(limitree_limiter_new(config, &limiter, NULL) == LIMITREE_OK);
  limitree_config_free(config);
  for (i = 0; i < 8; ++i) {
    limitree_authorize_action_for_user(limiter, str("alex"), str("trade"), 1,
                                       &decision, NULL);
    CHECK(decision.limited == 0);
    CHECK(((decision.flags & LIMITREE_SHADOWED) != 0) == (i >= 6));
  }
  CHECK(count_of(limiter, LIMITREE_SCOPE_REQUESTS, "", "shadow_limited") == 2);
  CHECK(count_of(limiter, LIMITREE_SCOPE_LIMITS, "user:*/trade",
                 "shadow_limited") == 2);
  CHECK(count_of(limiter, LIMITREE_SCOPE_LIMITS, "user:*/trade", "limited") ==
        0);
  limitree_limiter_free(limiter);
}

/* Scopes come one after the other, and no name comes twice in one. */
static void test_table_of_counters(void) {
  const limitree_counter *one;
  uint32_t scope = 0;
  size_t i, j;
  for (i = 0; (one = limitree_counter_at(i)) != NULL; ++i) {
    CHECK(one->scope >= scope && *one->name != '\0' && *one->help != '\0');
    CHECK(one->is_gauge == 0 || one->is_gauge == 1);
    scope = one->scope;
    for (j = 0; j < i; ++j) {
      const limitree_counter *other = limitree_counter_at(j);
      CHECK(other->scope != scope || strcmp(other->name, one->name) != 0);
      CHECK(other->scope != scope || other->label == one->label);
    }
  }
  CHECK(scope == LIMITREE_SCOPE_RULES);
  CHECK_TEXT(limitree_counter_at(0)->label, "source");
  CHECK(limitree_counter_at(1000) == NULL);
}

/* More callers without a token than there is room for. */
static void test_forgotten_callers_are_counted(void) {
  limitree_limiter *limiter = make_limiter();
  limitree_decision decision;
  limitree_str path[] = {str("user"), str("")};
  int64_t told = 0;
  int64_t evictions;
  int i;
  for (i = 0; i < 1500; ++i) {
    char name[16];
    sprintf(name, "%d", i);
    path[1] = str(name);
    CHECK(limitree_spend(limiter, path, 2, 16, &decision, NULL) == LIMITREE_OK);
    told += (decision.flags & LIMITREE_FORGOT) != 0;
  }
  evictions = count_of(limiter, LIMITREE_SCOPE_STORE, "", "evictions");
  CHECK(evictions >= 500 && evictions == told);
  CHECK(count_of(limiter, LIMITREE_SCOPE_STORE, "", "forgotten_limited") ==
        evictions);
  limitree_limiter_free(limiter);
}

static void test_texts(void) {
  limitree_limiter *limiter = make_limiter();
  const limitree_str path[] = {str("user"), str("alex"), str("trade")};
  limitree_text *text = NULL;
  CHECK(limitree_limiter_describe(limiter, &text, NULL) == LIMITREE_OK);
  CHECK(strstr(limitree_text_str(text).data, "trade") != NULL);
  limitree_text_free(text);
  CHECK(limitree_limiter_explain(limiter, path, 3, &text, NULL) == LIMITREE_OK);
  CHECK(strstr(limitree_text_str(text).data, "user:alex:trade") != NULL);
  CHECK(strlen(limitree_text_str(text).data) == limitree_text_str(text).size);
  limitree_text_free(text);
  limitree_limiter_free(limiter);
}

static void test_memory_has_no_troubles(void) {
  limitree_limiter *limiter = make_limiter();
  limitree_text *text = NULL;
  limitree_error *error = NULL;
  int64_t round_trip_ns = -1;
  CHECK(limitree_ping(limiter, &round_trip_ns, &error) == LIMITREE_OK);
  CHECK(error == NULL && round_trip_ns >= 0);
  CHECK(limitree_ping(limiter, NULL, NULL) == LIMITREE_OK);
  CHECK(limitree_set_pressure(limiter, 0.5, &error) == LIMITREE_OK);
  CHECK(limitree_set_pressure(limiter, 1.5, NULL) == LIMITREE_INVALID_ARGUMENT);
  CHECK(count_of(limiter, LIMITREE_SCOPE_REASONS, "", NULL) == 0);
  CHECK(count_of(limiter, LIMITREE_SCOPE_ROUND_TRIPS, "", NULL) == 16);
  CHECK(count_of(limiter, LIMITREE_SCOPE_ROUND_TRIPS, "0.000016", "answers") ==
        0);
  CHECK(count_of(limiter, LIMITREE_SCOPE_ROUND_TRIPS, "0.262144", "answers") ==
        0);
  CHECK(count_of(limiter, LIMITREE_SCOPE_ROUND_TRIPS, "+Inf", "answers") == 0);
  CHECK(limitree_limiter_prometheus(limiter, &text, NULL) == LIMITREE_OK);
  CHECK(strstr(limitree_text_str(text).data,
               "\nlimitree_limit_requests_total{policy=\"user:*/trade\","
               "answer=\"allowed\"} 0\n") != NULL);
  limitree_text_free(text);
  limitree_limiter_free(limiter);
}

static void test_options_that_do_not_go_together(void) {
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  limitree_error *error = NULL;
  CHECK(limitree_config_check(config, NULL) == LIMITREE_OK);
  CHECK(limitree_config_set(config, "tls_verify", str("off"), NULL) ==
        LIMITREE_OK);
  CHECK(limitree_config_check(config, NULL) == LIMITREE_INVALID_CONFIG);
  CHECK(limitree_limiter_new(config, &limiter, &error) ==
        LIMITREE_INVALID_CONFIG);
  CHECK(limiter == NULL);
  CHECK_TEXT(limitree_error_message(error),
             "tls_verify: needs a store with TLS, such as rediss://");
  CHECK_TEXT(limitree_error_reason(error), "");
  limitree_error_free(error);
  limitree_config_free(config);
}

static void test_reload(void) {
  limitree_limiter *limiter = make_limiter();
  limitree_error *error = NULL;
  limitree_decision decision;
  const limitree_str path[] = {str("user"), str("alex")};
  CHECK(limitree_limiter_reload(
            limiter, str("schema: {user: {limits: [0, -3, 1], childs: {}}}\n"),
            str("new.yaml"), &error) == LIMITREE_INVALID_CONFIG);
  CHECK(limitree_error_status(error) == LIMITREE_INVALID_CONFIG);
  CHECK(limitree_error_count(error) == 2);
  CHECK_TEXT(limitree_error_message(error),
             "new.yaml:1:29: count must be greater than 0, is -3");
  CHECK_TEXT(limitree_error_message_at(error, 0),
             limitree_error_message(error));
  CHECK(strncmp(limitree_error_message_at(error, 1), "new.yaml:1:", 11) == 0);
  CHECK(limitree_error_message_at(error, 2) == NULL);
  limitree_error_free(error);
  CHECK(limitree_authorize(limiter, path, 2, 0, &decision, &error) ==
        LIMITREE_OK);
  CHECK(error == NULL && decision.limit == 16); /* the old tree */
  CHECK(limitree_limiter_reload(limiter, str("schema: {user: {limits: 1/day}}"),
                                str("new.yaml"), &error) == LIMITREE_OK);
  CHECK(limitree_authorize(limiter, path, 2, 0, &decision, &error) ==
        LIMITREE_OK);
  CHECK(decision.limit == 1);
  limitree_limiter_free(limiter);
}

static void test_put(void) {
  limitree_limiter *limiter = make_limiter();
  limitree_error *error = NULL;
  limitree_decision decision;
  const limitree_str view[] = {str("view"), str("home")};
  const limitree_str alex[] = {str("user"), str("alex")};
  CHECK(limitree_authorize(limiter, alex, 2, 1, &decision, &error) ==
        LIMITREE_OK);
  CHECK(limitree_limiter_put(limiter, str("view"),
                             str("children:\n  \"*\": {limits: 0/s}\n"),
                             str("views"), LIMITREE_REPLACE_NONE,
                             &error) == LIMITREE_INVALID_CONFIG);
  CHECK_TEXT(limitree_error_message(error),
             "views:2:17: count must be greater than 0, is 0, in \"0/s\"");
  limitree_error_free(error);

  CHECK(limitree_limiter_put(
            limiter, str("view"), str("{children: {'*': {limits: 5/day}}}"),
            str("views"), LIMITREE_REPLACE_NONE, &error) == LIMITREE_OK);
  CHECK(limitree_authorize(limiter, view, 2, 1, &decision, &error) ==
        LIMITREE_OK);
  CHECK(decision.limit == 5 && decision.remaining == 4);
  CHECK(limitree_limiter_put(limiter, str("view"), str("{limits: 1/day}"),
                             str("views"), LIMITREE_REPLACE_NONE,
                             &error) == LIMITREE_INVALID_CONFIG);
  CHECK_TEXT(limitree_error_message(error),
             "\"view\" is a top-level name already");
  limitree_error_free(error);
  CHECK(limitree_limiter_put(limiter, str("user"), str("{limits: 1/day}"),
                             str("views"), LIMITREE_REPLACE_ADDED,
                             NULL) == LIMITREE_INVALID_CONFIG);
  CHECK(limitree_limiter_put(
            limiter, str("view"), str("{children: {'*': {limits: 9/day}}}"),
            str("views"), LIMITREE_REPLACE_ADDED, &error) == LIMITREE_OK);
  CHECK(limitree_limiter_put(limiter, str("job"), str("{limits: 3/day}"),
                             str("jobs"), LIMITREE_REPLACE_ANY,
                             &error) == LIMITREE_OK);
  CHECK(limitree_authorize(limiter, view, 2, 0, &decision, &error) ==
        LIMITREE_OK);
  CHECK(decision.limit == 9 && decision.remaining == 7);
  CHECK(limitree_authorize(limiter, alex, 2, 0, &decision, &error) ==
        LIMITREE_OK);
  CHECK(decision.limit == 16 && decision.remaining == 15);

  CHECK(limitree_limiter_put(
            limiter, str("file"),
            str("{children: {'*': {limits: 9/day}}, overrides: /etc/x.csv}"),
            str("files"), LIMITREE_REPLACE_ADDED | LIMITREE_NO_FILES,
            &error) == LIMITREE_INVALID_CONFIG);
  CHECK_TEXT(limitree_error_message(error),
             "files:1:47: /etc/x.csv: no file can be named here");
  limitree_error_free(error);
  CHECK(limitree_limiter_remove(limiter, str("user"), &error) ==
        LIMITREE_UNKNOWN_ROOT);
  CHECK_TEXT(limitree_error_message(error),
             "no top-level name \"user\" was put");
  limitree_error_free(error);
  CHECK(limitree_limiter_put(limiter, str("gone"), str("{limits: 3/day}"),
                             str("gone"), LIMITREE_REPLACE_NONE,
                             NULL) == LIMITREE_OK);
  CHECK(limitree_limiter_remove(limiter, str("gone"), &error) == LIMITREE_OK);
  CHECK(limitree_limiter_remove(limiter, str("gone"), NULL) ==
        LIMITREE_UNKNOWN_ROOT);

  /* A reload keeps an added name, and refuses limits that have it, too. */
  CHECK(limitree_limiter_reload(limiter, str("schema: {user: {limits: 1/day}}"),
                                str("new.yaml"), &error) == LIMITREE_OK);
  CHECK(limitree_authorize(limiter, view, 2, 0, &decision, &error) ==
        LIMITREE_OK);
  CHECK(decision.limit == 9);
  CHECK(limitree_limiter_reload(limiter, str("schema: {view: {limits: 1/day}}"),
                                str("new.yaml"),
                                &error) == LIMITREE_INVALID_CONFIG);
  CHECK_TEXT(limitree_error_message(error),
             "\"view\" is a top-level name of these limits, and was put beside "
             "the old ones");
  limitree_error_free(error);
  limitree_limiter_free(limiter);
}

static void test_limits_in_several_texts(void) {
  limitree_limiter *limiter = make_limiter(); /* without "job" and "task" */
  limitree_config *config = limitree_config_new();
  limitree_error *error = NULL;
  limitree_decision decision;
  const limitree_str job[] = {str("job")}, task[] = {str("task")};
  CHECK(limitree_config_set_limits(config,
                                   str("schema: {job: {limits: 7/day}}"),
                                   str("a.yaml"), &error) == LIMITREE_OK);
  CHECK(limitree_config_add_limits(config,
                                   str("schema: {task: {limits: 9/day}}"),
                                   str("b.yaml"), &error) == LIMITREE_OK);
  CHECK(limitree_config_add_limits(
            config, str("schema:\n  next: {}\n  job: {}\n"), str("c.yaml"),
            &error) == LIMITREE_INVALID_CONFIG);
  CHECK_TEXT(limitree_error_message(error),
             "c.yaml:3:3: \"job\" is a top-level name of a.yaml already");
  limitree_error_free(error);

  CHECK(limitree_authorize(limiter, job, 1, 1, &decision, &error) ==
        LIMITREE_UNKNOWN_ROOT);
  limitree_error_free(error);
  CHECK(limitree_limiter_reload_config(limiter, config, &error) == LIMITREE_OK);
  CHECK(limitree_authorize(limiter, job, 1, 1, &decision, &error) ==
        LIMITREE_OK);
  CHECK(decision.limit == 7);
  CHECK(limitree_authorize(limiter, task, 1, 1, &decision, &error) ==
        LIMITREE_OK);
  CHECK(decision.limit == 9);

  /* Setting limits replaces all earlier ones. */
  CHECK(limitree_config_set_limits(config,
                                   str("schema: {job: {limits: 5/day}}"),
                                   str("d.yaml"), &error) == LIMITREE_OK);
  CHECK(limitree_limiter_reload_config(limiter, config, &error) == LIMITREE_OK);
  CHECK(limitree_authorize(limiter, task, 1, 1, &decision, &error) ==
        LIMITREE_UNKNOWN_ROOT);
  limitree_error_free(error);
  limitree_config_free(config);
  CHECK(limitree_authorize(limiter, job, 1, 0, &decision, &error) ==
        LIMITREE_OK);
  CHECK(decision.limit == 5);
  limitree_limiter_free(limiter);
}

/* After a failure the status, the error and the outputs are as promised. */
static void check_refused(limitree_status status, limitree_status expected,
                          limitree_error *error, const char *message) {
  CHECK(status == expected);
  CHECK(limitree_error_status(error) == expected);
  CHECK_TEXT(limitree_error_message(error), message);
  CHECK(limitree_error_count(error) == 1);
  limitree_error_free(error);
}

static void test_bad_arguments(void) {
  limitree_limiter *limiter = make_limiter();
  limitree_str path[] = {str("user"), str("alex")};
  limitree_path one;
  limitree_decision decision;
  limitree_decision untouched;
  limitree_error *error = NULL;
  limitree_status status;
  memset(&decision, 0x55, sizeof decision);
  memset(&untouched, 0x55, sizeof untouched);
  one.segments = NULL;
  one.size = 1;
  one.cost = 1;
  one.part = LIMITREE_PART_CHARGE;

  status = limitree_authorize(NULL, path, 2, 1, &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error,
                "limiter must not be null");
  status = limitree_authorize(limiter, path, 2, 1, NULL, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error,
                "decision must not be null");
  status = limitree_authorize(limiter, NULL, 2, 1, &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error,
                "path must not be null");
  status = limitree_authorize(limiter, path, 0, 1, &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error, "the path is empty");
  status = limitree_authorize(limiter, path, 2, -1, &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error,
                "cost must not be negative, is -1");
  status = limitree_decide(limiter, 7, &one, 1, NULL, 0, &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error, "no operation 7");
  status = limitree_decide(limiter, LIMITREE_AUTHORIZE, NULL, 1, NULL, 0,
                           &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error,
                "paths must not be null");
  status = limitree_decide(limiter, LIMITREE_AUTHORIZE, &one, 0, NULL, 0,
                           &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error,
                "at least one path is needed");
  status = limitree_decide(limiter, LIMITREE_AUTHORIZE, &one, 1, NULL, 0,
                           &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error,
                "path must not be null");
  path[1].data = NULL;
  status = limitree_authorize(limiter, path, 2, 1, &decision, &error);
  check_refused(status, LIMITREE_INVALID_ARGUMENT, error,
                "segment.data must not be null");
  path[0] = str("nobody");
  status = limitree_authorize(limiter, path, 1, 1, &decision, &error);
  check_refused(status, LIMITREE_UNKNOWN_ROOT, error,
                "unknown root \"nobody\", the tree has: user, free");
  CHECK(memcmp(&decision, &untouched, sizeof decision) == 0);

  /* The same without an error to fill. */
  CHECK(limitree_authorize(limiter, path, 1, 1, &decision, NULL) ==
        LIMITREE_UNKNOWN_ROOT);
  limitree_limiter_free(limiter);
}

static void test_null_handles(void) {
  limitree_str nothing;
  limitree_str broken;
  limitree_error *error = NULL;
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = make_limiter();
  limitree_text *text = NULL;
  limitree_store_file file;
  nothing.data = NULL;
  nothing.size = 0;
  broken.data = NULL;
  broken.size = 1;

  limitree_error_free(NULL);
  limitree_text_free(NULL);
  limitree_config_free(NULL);
  limitree_limiter_free(NULL);
  limitree_decision_cell(NULL, NULL);
  limitree_loop_run(NULL);
  limitree_loop_set_wakeups(NULL, 0);
  limitree_loop_set_timeout(NULL, 1);
  CHECK(limitree_loop_fd(NULL) == -1);
  CHECK(limitree_limiter_is_remote(NULL) == 0);
  CHECK(limitree_limiter_is_shared(NULL) == 0);
  CHECK(limitree_error_status(NULL) == LIMITREE_OK);
  CHECK_TEXT(limitree_error_message(NULL), "");
  CHECK_TEXT(limitree_error_reason(NULL), "");
  CHECK(limitree_error_count(NULL) == 0);
  CHECK(limitree_text_str(NULL).size == 0);

#define REFUSED(call) CHECK((call) == LIMITREE_INVALID_ARGUMENT)
  REFUSED(limitree_config_set(NULL, "store", nothing, NULL));
  REFUSED(limitree_config_set(config, NULL, nothing, NULL));
  REFUSED(limitree_config_set(config, "store", broken, NULL));
  REFUSED(limitree_config_set(config, "stor", nothing, NULL));
  REFUSED(limitree_config_check(NULL, NULL));
  REFUSED(limitree_config_set_limits(NULL, nothing, nothing, NULL));
  REFUSED(limitree_config_set_limits(config, broken, nothing, NULL));
  REFUSED(limitree_config_set_limits(config, nothing, broken, NULL));
  REFUSED(limitree_config_add_limits(NULL, nothing, nothing, NULL));
  REFUSED(limitree_config_add_limits(config, broken, nothing, NULL));
  REFUSED(limitree_config_add_limits(config, nothing, broken, NULL));
  REFUSED(limitree_config_set_clock(NULL, read_clock, NULL, NULL));
  REFUSED(limitree_config_set_completion(config, NULL, NULL, NULL, NULL));
  REFUSED(limitree_limiter_new(NULL, &limiter, NULL));
  REFUSED(limitree_limiter_new(config, NULL, NULL));
  REFUSED(limitree_limiter_new_loop(NULL, NULL, &limiter, NULL));
  REFUSED(limitree_limiter_new_loop(limiter, NULL, NULL, NULL));
  REFUSED(limitree_limiter_reload(NULL, nothing, nothing, NULL));
  REFUSED(limitree_limiter_reload(limiter, broken, nothing, NULL));
  REFUSED(limitree_limiter_reload_config(NULL, config, NULL));
  REFUSED(limitree_limiter_reload_config(limiter, NULL, NULL));
  REFUSED(limitree_limiter_put(NULL, nothing, nothing, nothing, 0, NULL));
  REFUSED(limitree_limiter_put(limiter, broken, nothing, nothing, 0, NULL));
  REFUSED(limitree_limiter_put(limiter, nothing, broken, nothing, 0, NULL));
  REFUSED(limitree_limiter_put(limiter, nothing, nothing, broken, 0, NULL));
  REFUSED(limitree_limiter_put(limiter, nothing, nothing, nothing, -1, NULL));
  REFUSED(limitree_limiter_put(limiter, nothing, nothing, nothing, 3, NULL));
  REFUSED(limitree_reset(NULL, NULL, 0, 0, NULL));
  REFUSED(limitree_reset(limiter, NULL, 0, 0, NULL));
  REFUSED(limitree_reset_async(NULL, NULL, 0, 0, NULL, NULL));
  REFUSED(limitree_reset_async(limiter, NULL, 0, 0, NULL, NULL));
  REFUSED(limitree_limiter_each_counter(NULL, 1, take_counter, NULL, NULL));
  REFUSED(limitree_limiter_each_counter(limiter, 1, NULL, NULL, NULL));
  REFUSED(limitree_limiter_describe(NULL, &text, NULL));
  REFUSED(limitree_limiter_describe(limiter, NULL, NULL));
  REFUSED(limitree_limiter_store_file(NULL, &file, NULL));
  REFUSED(limitree_limiter_store_file(limiter, NULL, NULL));
  REFUSED(limitree_limiter_store_file(limiter, &file, NULL)); /* in memory */
  REFUSED(limitree_limiter_prometheus(NULL, &text, NULL));
  REFUSED(limitree_limiter_prometheus(limiter, NULL, NULL));
  REFUSED(limitree_ping(NULL, NULL, NULL));
  REFUSED(limitree_set_pressure(NULL, 0, NULL));
  REFUSED(limitree_limiter_explain(NULL, NULL, 0, &text, NULL));
  REFUSED(limitree_limiter_explain(limiter, NULL, 0, NULL, NULL));
  REFUSED(limitree_limiter_list_holds(NULL, NULL, 0, &text, NULL));
  REFUSED(limitree_limiter_list_holds(limiter, NULL, 0, NULL, NULL));
  CHECK(limitree_config_set(config, "max_buckets", str("many"), &error) ==
        LIMITREE_INVALID_CONFIG);
  limitree_error_free(error);
  CHECK(text == NULL);
  limitree_limiter_free(limiter);
  limitree_config_free(config);
}

static limitree_status canonical(const char *address, int32_t prefix,
                                 limitree_ip *ip) {
  return limitree_canonical_ip(str(address), prefix, ip, NULL);
}

static void test_canonical_ip(void) {
  limitree_error *error = NULL;
  limitree_ip ip;
  memset(&ip, 0xff, sizeof ip);
  CHECK(canonical("[::FFFF:192.0.2.1]:443", 64, &ip) == LIMITREE_OK);
  CHECK_TEXT(ip.text, "192.0.2.1");
  CHECK(ip.size == 9 && ip.version == 4);
  CHECK(ip.believed == 0 && ip.reserved == 0);
  CHECK(canonical("2001:DB8:1:2:3::4%eth0", 64, &ip) == LIMITREE_OK);
  CHECK_TEXT(ip.text, "2001:db8:1:2::");
  CHECK(ip.size == 14 && ip.version == 6);
  CHECK(canonical("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 128, &ip) ==
        LIMITREE_OK);
  CHECK_TEXT(ip.text, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe");

  CHECK(limitree_canonical_ip(str("localhost"), 64, &ip, &error) ==
        LIMITREE_INVALID_ARGUMENT);
  CHECK_TEXT(limitree_error_message(error),
             "\"localhost\" is not an IP address");
  limitree_error_free(error);
  CHECK(canonical("192.0.2.1", 0, &ip) == LIMITREE_INVALID_CONFIG);
  CHECK(canonical("192.0.2.1", 129, &ip) == LIMITREE_INVALID_CONFIG);
}

static void test_client_ip(void) {
  const limitree_str trusted[2] = {str("10.0.0.0/8"), str("fd00::/8")};
  const limitree_str lines[2] = {str("1.1.1.1, 2001:DB8::5"), str("fd00::1")};
  limitree_proxies *proxies = NULL;
  limitree_error *error = NULL;
  limitree_ip ip;
  CHECK(limitree_proxies_new(LIMITREE_X_FORWARDED_FOR, 0, trusted, 2, 128,
                             &proxies, &error) == LIMITREE_OK);
  CHECK(limitree_client_ip(proxies, str("10.0.0.1"), lines, 2, &ip, &error) ==
        LIMITREE_OK);
  CHECK_TEXT(ip.text, "2001:db8::5");
  CHECK(ip.believed == 2);
  CHECK(limitree_client_ip(proxies, str("203.0.113.5"), lines, 2, &ip,
                           &error) == LIMITREE_OK);
  CHECK_TEXT(ip.text, "203.0.113.5");
  CHECK(ip.believed == 0);
  CHECK(limitree_client_ip(proxies, str("10.0.0.1"), NULL, 0, &ip, &error) ==
        LIMITREE_OK);
  CHECK_TEXT(ip.text, "10.0.0.1");
  CHECK(limitree_client_ip(proxies, str(""), lines, 2, &ip, &error) ==
        LIMITREE_INVALID_ARGUMENT);
  CHECK_TEXT(limitree_error_message(error),
             "the peer has no address, and nobody who is trusted names the "
             "client");
  limitree_error_free(error);
  limitree_proxies_free(proxies);

  CHECK(limitree_proxies_new(LIMITREE_FORWARDED, 1, NULL, 0, 64, &proxies,
                             &error) == LIMITREE_OK);
  {
    const limitree_str line = str("for=\"[2001:db8:1:2::9]:80\";proto=https");
    CHECK(limitree_client_ip(proxies, str(""), &line, 1, &ip, &error) ==
          LIMITREE_OK);
    CHECK_TEXT(ip.text, "2001:db8:1:2::");
  }
  limitree_proxies_free(proxies);
  CHECK(limitree_proxies_new(LIMITREE_X_FORWARDED_FOR, 1, trusted, 2, 128,
                             &proxies, &error) == LIMITREE_INVALID_CONFIG);
  CHECK_TEXT(limitree_error_message(error),
             "trusted_hops and trusted_proxies exclude each other");
  limitree_error_free(error);
}

static void test_texts_that_mean_numbers(void) {
  const limitree_str nothing = {NULL, 0};
  const limitree_str broken = {NULL, 3};
  limitree_rate rates[2];
  limitree_error *error = NULL;
  int64_t ns = 7;
  size_t count = 7;

  CHECK(limitree_parse_duration(str("1m30s"), &ns, &error) == LIMITREE_OK);
  CHECK(ns == INT64_C(90000000000) && error == NULL);
  CHECK(limitree_parse_duration(nothing, &ns, &error) ==
        LIMITREE_INVALID_CONFIG);
  CHECK(strstr(limitree_error_message(error), "must be a duration") != NULL);
  limitree_error_free(error);
  REFUSED(limitree_parse_duration(broken, &ns, NULL));
  REFUSED(limitree_parse_duration(str("1s"), NULL, NULL));
  CHECK(ns == INT64_C(90000000000));
  CHECK(limitree_parse_go_duration(str("1.5h"), &ns, NULL) == LIMITREE_OK);
  CHECK(ns == 5400 * INT64_C(1000000000));
  CHECK(limitree_parse_go_duration(str("1d"), &ns, NULL) ==
        LIMITREE_INVALID_CONFIG);
  REFUSED(limitree_parse_go_duration(broken, &ns, NULL));
  REFUSED(limitree_parse_go_duration(str("1s"), NULL, NULL));

  memset(rates, 0xff, sizeof rates);
  CHECK(limitree_parse_rates(str("5/s burst 9; 100/hour"), rates, 2, &count,
                             &error) == LIMITREE_OK);
  CHECK(count == 2 && error == NULL);
  CHECK(rates[0].count == 5 && rates[0].burst == 9);
  CHECK(strcmp(rates[0].name, "5/1s-burst9") == 0 && rates[0].size == 11);
  CHECK(rates[1].period_ns == INT64_C(3600000000000));
  CHECK(rates[1].reserved[2] == 0);
  CHECK(limitree_parse_rates(str("x/y"), rates, 2, &count, &error) ==
        LIMITREE_INVALID_CONFIG);
  CHECK(limitree_error_count(error) == 2 && count == 2);
  limitree_error_free(error);
  REFUSED(limitree_parse_rates(broken, rates, 2, &count, NULL));
  REFUSED(limitree_parse_rates(str("1/s"), NULL, 2, &count, NULL));
  REFUSED(limitree_parse_rates(str("1/s"), rates, 2, NULL, NULL));
}

static void test_addresses_of_null(void) {
  const limitree_str broken = {NULL, 3};
  const limitree_str nothing = {NULL, 0};
  limitree_proxies *proxies = NULL;
  limitree_ip ip;
  limitree_proxies_free(NULL);
  REFUSED(limitree_canonical_ip(nothing, 64, &ip, NULL));
  REFUSED(limitree_canonical_ip(broken, 64, &ip, NULL));
  REFUSED(limitree_canonical_ip(str("::1"), 64, NULL, NULL));
  REFUSED(limitree_proxies_new(2, 0, NULL, 0, 64, &proxies, NULL));
  REFUSED(limitree_proxies_new(-1, 0, NULL, 0, 64, &proxies, NULL));
  REFUSED(limitree_proxies_new(0, 0, NULL, 1, 64, &proxies, NULL));
  REFUSED(limitree_proxies_new(0, 0, &broken, 1, 64, &proxies, NULL));
  REFUSED(limitree_proxies_new(0, 0, NULL, 0, 64, NULL, NULL));
  CHECK(proxies == NULL);
  CHECK(limitree_proxies_new(0, 0, NULL, 0, 64, &proxies, NULL) == LIMITREE_OK);
  REFUSED(limitree_client_ip(NULL, str("::1"), NULL, 0, &ip, NULL));
  REFUSED(limitree_client_ip(proxies, broken, NULL, 0, &ip, NULL));
  REFUSED(limitree_client_ip(proxies, nothing, NULL, 0, &ip, NULL));
  REFUSED(limitree_client_ip(proxies, str("::1"), NULL, 1, &ip, NULL));
  REFUSED(limitree_client_ip(proxies, str("::1"), &broken, 1, &ip, NULL));
  REFUSED(limitree_client_ip(proxies, str("::1"), NULL, 0, NULL, NULL));
  limitree_proxies_free(proxies);
}

static void never_called(const limitree_completion *completions, size_t count,
                         void *user_data) {
  (void)completions;
  (void)count;
  (void)user_data;
  CHECK(0);
}

static void count_free(void *user_data) { ++*(int *)user_data; }

/* Once, when neither the config nor the limiter needs it any more. */
static void test_completion_data_is_freed_once(void) {
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  int freed = 0;
  CHECK(limitree_config_set_completion(config, never_called, &freed, count_free,
                                       NULL) == LIMITREE_OK);
  CHECK(limitree_limiter_new(config, &limiter, NULL) == LIMITREE_OK);
  limitree_config_free(config);
  CHECK(freed == 0);
  limitree_limiter_free(limiter);
  CHECK(freed == 1);
}

int main(void) {
  test_versions();
  test_names();
  test_walk_through();
  test_operations();
  test_unlimited();
  test_levels();
  test_handles();
  test_parts();
  test_units();
  test_holds();
  test_too_many_paths();
  test_counters();
  test_shadow();
  test_table_of_counters();
  test_forgotten_callers_are_counted();
  test_texts();
  test_memory_has_no_troubles();
  test_options_that_do_not_go_together();
  test_reload();
  test_put();
  test_limits_in_several_texts();
  test_bad_arguments();
  test_null_handles();
  test_canonical_ip();
  test_client_ip();
  test_texts_that_mean_numbers();
  test_addresses_of_null();
  test_completion_data_is_freed_once();
  return failures != 0;
}
