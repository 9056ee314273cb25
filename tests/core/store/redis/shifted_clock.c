/* A library to preload into a server.  It gives the server a clock that a test
 * can set: the system's clock plus the number of seconds in the file that
 * SHIFTED_CLOCK names.  The file holds one int64_t.
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

__attribute__((constructor)) static void open_file(void) {
  const char *name = getenv("SHIFTED_CLOCK");
  const int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file == -1) abort();
  void *mapped = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) abort();
  shift = mapped;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && clock == CLOCK_REALTIME && shift != NULL) {
    now->tv_sec += (time_t)*shift;
  }
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
