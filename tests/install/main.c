/* A program of somebody else: all it knows of limitree is what is installed. */
#include <limitree.h>
#include <stdio.h>
#include <string.h>

static limitree_str str(const char *text) {
  limitree_str s = {text, strlen(text)};
  return s;
}

int main(void) {
  const char *yaml =
      "schema: {user: {children: {'*': {children: {trade: "
      "{limits: [1, 10, 60]}}}}}}";
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  limitree_decision decision = {0};
  int denied = 0;
  int i;

  if (limitree_abi_version() != LIMITREE_ABI_VERSION) return 1;
  if (limitree_config_set_limits(config, str(yaml), str("limits.yaml"), NULL) !=
      LIMITREE_OK) {
    return 2;
  }
  if (limitree_limiter_new(config, &limiter, NULL) != LIMITREE_OK) return 3;
  limitree_config_free(config);
  for (i = 0; i < 3; i++) {
    if (limitree_authorize_action_for_user(limiter, str("alex"), str("trade"),
                                           1, &decision, NULL) != LIMITREE_OK) {
      return 4;
    }
    denied += decision.limited;
  }
  limitree_limiter_free(limiter);
  printf("limitree %s: %d of 3 denied\n", limitree_version(), denied);
  return denied == 1 ? 0 : 5;
}
