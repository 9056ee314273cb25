/* Asks for ten trades at once without waiting for any of them.
 *
 *   cc event_loop.c $(pkg-config --cflags --libs limitree) -o event_loop
 *   ./event_loop redis://127.0.0.1
 */
#include <limitree.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static void show(const limitree_completion *done, size_t n, void *waiting) {
  for (size_t i = 0; i < n; ++i, --*(int *)waiting)
    puts(done[i].error              ? limitree_error_message(done[i].error)
         : done[i].decision.limited ? "limited"
                                    : "allowed");
}

int main(int argc, char **argv) {
  const char *yaml =
      "schema: {user: {children: {\"*\": {limits: [5, 10, 15]}}}}";
  const char *url = argc > 1 ? argv[1] : "memory://";
  limitree_str text = {yaml, strlen(yaml)}, origin = {"limits.yaml", 11};
  limitree_str store = {url, strlen(url)};
  limitree_str path[] = {{"user", 4}, {"alex", 4}};
  int waiting = 0;
  limitree_config *config = limitree_config_new();
  limitree_limiter *limiter = NULL;
  if (limitree_config_set_limits(config, text, origin, NULL) < 0 ||
      limitree_config_set(config, "store", store, NULL) < 0 ||
      limitree_config_set_completion(config, show, &waiting, NULL, NULL) < 0 ||
      limitree_limiter_new(config, &limiter, NULL) < 0)
    return 1;
  limitree_config_free(config);

  for (int i = 0; i < 10; ++i) {
    limitree_completion now = {0};
    ++waiting; /* the memory store answers at once: nothing is pending then */
    now.status = limitree_authorize_async(limiter, path, 2, 1, NULL,
                                          &now.decision, NULL);
    if (now.status == LIMITREE_OK) show(&now, 1, &waiting);
    if (now.status < 0) return 1;
  }
  while (waiting > 0) {
    struct pollfd fd = {limitree_loop_fd(limiter), POLLIN, 0};
    poll(&fd, 1, -1);
    limitree_loop_run(limiter);
  }
  limitree_limiter_free(limiter);
  return 0;
}
