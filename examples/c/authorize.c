/* Asks before each of ten trades whether alex may make it.
 *
 *   cc authorize.c $(pkg-config --cflags --libs limitree) -o authorize
 *   ./authorize ../limits.yaml
 */
#include <limitree.h>
#include <stdio.h>

int main(int argc, char **argv) {
  static char yaml[1 << 16];
  FILE *file = fopen(argc > 1 ? argv[1] : "limits.yaml", "rb");
  if (file == NULL) return perror("authorize"), 1;
  limitree_str text = {yaml, fread(yaml, 1, sizeof yaml, file)};
  fclose(file);

  limitree_str origin = {"limits.yaml", 11}, user = {"alex", 4};
  limitree_str action = {"trade", 5};
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  limitree_error *error = NULL;
  limitree_config_set_limits(config, text, origin, &error);
  if (error == NULL) limitree_limiter_new(config, &limiter, &error);
  limitree_config_free(config);

  for (int i = 1; i <= 10 && error == NULL; ++i) {
    limitree_decision answer;
    if (limitree_authorize_action_for_user(limiter, user, action, 1, &answer,
                                           &error) != LIMITREE_OK)
      break;
    printf("trade %2d %s, %d left\n", i, answer.limited ? "limited" : "allowed",
           (int)answer.remaining);
  }
  limitree_limiter_free(limiter);
  int failed = error != NULL;
  if (failed) printf("authorize: %s\n", limitree_error_message(error));
  limitree_error_free(error);
  return failed;
}
