/* A test in C99: CHECK() says what failed and continues; main returns failed().
 */
#ifndef LIMITREE_TESTS_CAPI_CHECK_H
#define LIMITREE_TESTS_CAPI_CHECK_H

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      ++failures;                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                 \
  } while (0)

/* Checks a text, and shows both if they differ. */
#define CHECK_TEXT(actual, expected)                                       \
  do {                                                                     \
    const char* actual_ = (actual);                                        \
    if (strcmp(actual_, (expected)) != 0) {                                \
      ++failures;                                                          \
      fprintf(stderr, "%s:%d: \"%s\" is not \"%s\"\n", __FILE__, __LINE__, \
              actual_, (expected));                                        \
    }                                                                      \
  } while (0)

#endif
