/* What a build without Redis and libpsl does, and what it says it lacks. */
#include <limitree.h>
#include <stdio.h>
#include <string.h>

static limitree_str str(const char *text) {
  limitree_str s = {text, strlen(text)};
  return s;
}

/* Whether `error` is of `status` and says `text`; prints it, and frees it. */
static int is_error(limitree_error *error, limitree_status status,
                    const char *text) {
  const int is = limitree_error_status(error) == status &&
                 limitree_error_count(error) == 1 &&
                 strcmp(limitree_error_message(error), text) == 0;
  printf("%s\n", limitree_error_message(error));
  limitree_error_free(error);
  return is;
}

static int refuses_redis(const char *url) {
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  limitree_error *error = NULL;
  int refused;

  refused =
      limitree_config_set_limits(config,
                                 str("schema: {user: {limits: [1, 10, 60]}}"),
                                 str("limits.yaml"), NULL) == LIMITREE_OK &&
      limitree_config_set(config, "store", str(url), NULL) == LIMITREE_OK &&
      limitree_limiter_new(config, &limiter, &error) ==
          LIMITREE_INVALID_CONFIG &&
      limiter == NULL;
  limitree_config_free(config);
  return is_error(error, LIMITREE_INVALID_CONFIG,
                  "store: this build of limitree has no Redis "
                  "(LIMITREE_REDIS=OFF), there is memory://") &&
         refused;
}

static int refuses_domain(void) {
  limitree_config *config = limitree_config_new();
  limitree_error *error = NULL;
  const limitree_status status = limitree_config_set_limits(
      config,
      str("schema: {host: {children: {'*': {key: domain, "
          "limits: [1, 10, 60]}}}}"),
      str("limits.yaml"), &error);

  limitree_config_free(config);
  return is_error(error, LIMITREE_INVALID_CONFIG,
                  "limits.yaml:1:39: key domain needs libpsl, and this build "
                  "of limitree has none") &&
         status == LIMITREE_INVALID_CONFIG;
}

int main(void) {
  if (strcmp(limitree_openssl_version(), "") != 0) return 1;
  if (!refuses_redis("redis://localhost:6379")) return 2;
  if (!refuses_redis("rediss+cluster://one,two")) return 3;
  if (!refuses_domain()) return 4;
  return 0;
}
