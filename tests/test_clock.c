/* A library to preload into a program.  It gives the program a clock that a
 * test sets, by a file that holds one int64_t.  SHIFTED_CLOCK names a file of
 * seconds that are added to the system's clock, STOPPED_CLOCK one of the second
 * since 1970 at which the clock stands.  Time that is only measured
 * (CLOCK_MONOTONIC) goes on as usual.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;
static volatile int64_t *standstill;

static volatile int64_t *open_file(const char *variable) {
  const char *name = getenv(variable);
  if (name == NULL) return NULL;
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file == -1) abort();
  void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) abort();
  close(file);
  return mapped;
}

__attribute__((constructor)) static void open_files(void) {
  shift = open_file("SHIFTED_CLOCK");
  standstill = open_file("STOPPED_CLOCK");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  const int is_wall = clock == CLOCK_REALTIME;
  if (standstill != NULL && (is_wall || clock == CLOCK_BOOTTIME)) {
    now->tv_sec = (time_t)*standstill;
    now->tv_nsec = 0;
    return 0;
  }
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && is_wall && shift != NULL) now->tv_sec += (time_t)*shift;
  return (int)failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (result != NULL) *result = exact.tv_sec;
  return exact.tv_sec;
}
