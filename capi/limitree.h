/*
 * limitree.h - the C interface of limitree, a rate-limiting library.
 *
 * A limiter answers one question: may the caller named by a path, such as
 * {"user", "alex", "trade"}, act now?  Every limit met on the way down the
 * limit tree is checked in one step: all of them are charged, or none is.
 *
 * Conventions, which hold for every function below:
 *
 *   Handles   Opaque and typed.  x_new() makes one, x_free() releases it, and
 *             x_free(NULL) does nothing.  NULL in another pointer argument is
 *             answered with LIMITREE_INVALID_ARGUMENT unless a comment allows
 *             it; `error` may always be NULL.
 *   Order     Handle first, then inputs, then outputs; `error` comes last.
 *   Strings   limitree_str: bytes and a size, no terminator needed.  Inputs
 *             are borrowed until the call returns, never longer.
 *   Errors    Negative status: failed, outputs untouched.  If `error` is not
 *             NULL, *error then holds an error the caller must free; on
 *             success *error is NULL.  A denied action is not an error.
 *   Threads   A limiter may be used from any thread.  A config belongs to one
 *             thread at a time.  No state is kept per thread.
 *   Processes fork() is safe at any time; afterwards each process counts for
 *             itself in a memory store.
 *   Time      Nanoseconds in an int64_t, always with the suffix _ns.
 *   ABI       Within one LIMITREE_ABI_VERSION functions are added, never
 *             changed or removed; new status codes and flags may appear.
 */
#ifndef LIMITREE_H
#define LIMITREE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(LIMITREE_BUILDING)
#define LIMITREE_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(LIMITREE_STATIC)
#define LIMITREE_API __declspec(dllimport)
#elif defined(__GNUC__)
#define LIMITREE_API __attribute__((visibility("default")))
#else
#define LIMITREE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------ */

#define LIMITREE_VERSION_MAJOR 0
#define LIMITREE_VERSION_MINOR 1
#define LIMITREE_VERSION_PATCH 0

/* Also the number in the SONAME.  Rises only when a caller must recompile. */
#define LIMITREE_ABI_VERSION 0

/* The library found at run time: "0.1.0".  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_version(void);

/* LIMITREE_ABI_VERSION of the library found at run time.  Since 0.1. */
LIMITREE_API int32_t limitree_abi_version(void);

/* The OpenSSL that TLS goes through, found at run time or linked into this
 * library: "OpenSSL 3.0.17 1 Jul 2025".  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_openssl_version(void);

/* The algorithms, as limits.yaml has them after `algorithm:`, from index 0 on:
 * "gcra", "fixed_window", ..., "leaky_bucket, drain: step".  NULL where there
 * are no more.  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_algorithm_at(size_t index);

/* ---- Values ------------------------------------------------------------- */

/* Borrowed bytes.  A path segment may hold any byte, ':' and '*' included. */
typedef struct limitree_str {
  const char *data;
  size_t size;
} limitree_str;

/* One of LIMITREE_OK ... ; an int32_t so that its size is fixed. */
typedef int32_t limitree_status;

enum {
  LIMITREE_OK = 0,
  LIMITREE_PENDING = 1,           /* an _async call: answer to come */
  LIMITREE_INVALID_ARGUMENT = -1, /* the caller broke a rule of this file */
  LIMITREE_INVALID_CONFIG = -2,   /* option or limits text rejected */
  LIMITREE_OUT_OF_MEMORY = -3,
  LIMITREE_STORE_UNAVAILABLE = -4, /* store down or refused; may be retried */
  LIMITREE_STORE_TIMEOUT = -5,     /* no answer in time; may be charged */
  LIMITREE_STORE_PROTOCOL = -6,    /* store answered what we cannot read */
  LIMITREE_CANCELLED = -7,         /* the limiter was freed first */
  LIMITREE_UNKNOWN_ROOT = -8,      /* no such top-level name in the tree */
  LIMITREE_INTERNAL = -9           /* a bug in limitree; please report */
};

/* "store_timeout" for LIMITREE_STORE_TIMEOUT; "unknown" for other values. */
LIMITREE_API const char *limitree_status_name(limitree_status status);

/* retry_after_ns of a cost above the capacity: no wait is long enough. */
#define LIMITREE_NEVER INT64_MAX

/* Bits of limitree_decision.flags. */
enum {
  LIMITREE_UNLIMITED = 1u << 0, /* no limit lies on this path */
  LIMITREE_SHADOWED = 1u << 1,  /* a shadow-mode limit would have denied */
  LIMITREE_DEGRADED = 1u << 2,  /* store failed; on_store_error decided */
  LIMITREE_CACHED = 1u << 3,    /* denied from the local deny cache */
  LIMITREE_SOFT = 1u << 4,      /* allowed out of the overrun share */
  /* To make room, the memory store has forgotten a bucket that would deny. */
  LIMITREE_FORGOT = 1u << 5
};

/* Who decided: limitree_decision.source.  All but the first two set the flag
 * LIMITREE_DEGRADED; they are what on_store_error asked for. */
enum {
  LIMITREE_SOURCE_STORE = 0,
  LIMITREE_SOURCE_DENY_CACHE = 1, /* an earlier denial that still holds */
  LIMITREE_SOURCE_LOCAL = 2,      /* this process's memory */
  LIMITREE_SOURCE_ALLOW = 3,      /* nobody: allowed unseen */
  LIMITREE_SOURCE_DENY = 4        /* nobody: denied unseen */
};

/*
 * What was decided, as told by the binding level of the path: a denying level
 * before an allowing one, then the longest wait, then the fewest left, then
 * the deepest.  Filled by the library; plain data, nothing to free.  80 bytes
 * for ever: new fields are taken from `reserved`, which reads as zero.
 */
typedef struct limitree_decision {
  int64_t limit;          /* capacity of the binding level; -1: unlimited */
  int64_t remaining;      /* cost it still allows at once; -1: unlimited */
  int64_t retry_after_ns; /* -1 if allowed, else the wait or LIMITREE_NEVER */
  int64_t reset_after_ns; /* until every counted level is full again, >= 0 */
  int64_t next_after_ns;  /* until an identical request fits, >= 0 */
  int32_t limited;        /* 0 or 1 */
  uint32_t flags;         /* LIMITREE_UNLIMITED | ... */
  int32_t level;          /* index of the binding level; -1: none */
  int32_t level_count;    /* levels that were checked */
  int32_t source;         /* LIMITREE_SOURCE_STORE ... */
  int32_t reserved_32;
  int64_t binding_reset_after_ns; /* until the binding level is full again */
  int64_t reserved[1];
} limitree_decision;

/*
 * The five-field response of redis-cell's CL.THROTTLE: limited, limit,
 * remaining, retry_after, reset_after.  Times are whole seconds, rounded up;
 * -1 stands for "not limited" and for LIMITREE_NEVER.  Since 0.1.
 */
LIMITREE_API void limitree_decision_cell(const limitree_decision *decision,
                                         int64_t cell[5]);

/* How a level takes part in a decision: limitree_level.mode. */
enum {
  LIMITREE_ENFORCE = 0, /* counts and is charged */
  LIMITREE_SHADOW = 1,  /* never denies; charged when it fits */
  LIMITREE_CHECK = 2    /* counts, never charged */
};

/*
 * The verdict of one level.  Filled by the library; plain data, nothing to
 * free.  128 bytes for ever where pointers take 8: new fields are taken from
 * `reserved`, which reads as zero.
 */
typedef struct limitree_level {
  limitree_str policy;    /* the limit's place in the tree: "user:carol";
                             lives as long as the limiter */
  int64_t limit;          /* capacity, in tokens */
  int64_t remaining;      /* tokens left, 0 ... limit */
  int64_t retry_after_ns; /* -1 if it fits, else the wait or LIMITREE_NEVER */
  int64_t reset_after_ns; /* until the bucket is full again, >= 0 */
  int64_t next_after_ns;  /* until an identical request fits, >= 0 */
  int64_t window_ns;      /* the period of a window, or time in which an empty
                             bucket fills */
  int64_t cost;           /* tokens asked for at this level */
  int32_t limited;        /* 1 if what was asked for does not fit here */
  int32_t charged;        /* 1 if the bucket was written */
  int32_t mode;           /* LIMITREE_ENFORCE ... */
  int32_t path;           /* index of the first path that met it */
  int32_t soft;           /* 1 if it fits only thanks to the overrun */
  int32_t reserved_32;
  int64_t grows_after_ns; /* until `remaining` is larger if nobody else comes,
                             by the rule of the limit's algorithm; 0 if the
                             bucket is full */
  int64_t reserved[3];
} limitree_level;

/* Bytes that the library made for the caller. */
typedef struct limitree_text limitree_text;

/* UTF-8, and a terminator after its last byte.  Lives as long as the text. */
LIMITREE_API limitree_str limitree_text_str(const limitree_text *text);

/* What is worth knowing of that from which it was made, a line each:
 * "overrides.yaml:7:9: ...".  NULL if `index` is too large.  They live as long
 * as the text.  Since 0.1. */
LIMITREE_API size_t limitree_text_warning_count(const limitree_text *text);
LIMITREE_API const char *limitree_text_warning_at(const limitree_text *text,
                                                  size_t index);

LIMITREE_API void limitree_text_free(limitree_text *text);

/* ---- Errors ------------------------------------------------------------- */

typedef struct limitree_error limitree_error;

LIMITREE_API limitree_status limitree_error_status(const limitree_error *error);

/* One line of UTF-8, e.g. "limits.yaml:7:9: count must be greater than 0, is
 * -3": the first, where there are several.  Lives as long as the error. */
LIMITREE_API const char *limitree_error_message(const limitree_error *error);

/* A limits.yaml is refused with one message for each mistake in it, in the
 * order of the file; any other error has one.  NULL if `index` is too large.
 * Since 0.1. */
LIMITREE_API size_t limitree_error_count(const limitree_error *error);
LIMITREE_API const char *limitree_error_message_at(const limitree_error *error,
                                                   size_t index);

/* Which trouble of a store it was, as one word: "readonly", "timeout"; empty
 * for every other error.  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_error_reason(const limitree_error *error);

LIMITREE_API void limitree_error_free(limitree_error *error);

/* ---- Config ------------------------------------------------------------- */

typedef struct limitree_config limitree_config;

/* Defaults: memory store, no limits.  NULL if memory runs out.  Since 0.1. */
LIMITREE_API limitree_config *limitree_config_new(void);
LIMITREE_API void limitree_config_free(limitree_config *config);

/* Sets one option, e.g. "max_buckets" to "250000".  The names are those of
 * docs/configuration.md and the same in every language.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set(limitree_config *config,
                                                 const char *name,
                                                 limitree_str value,
                                                 limitree_error **error);

/* Replaces the limit tree by the one in `yaml`.  `origin` is the name of the
 * file that it was read from: error messages begin with it, and files that
 * `overrides` names lie in its folder.  For limits from elsewhere it is any
 * word without a '/', and the working directory is that folder.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set_limits(limitree_config *config,
                                                        limitree_str yaml,
                                                        limitree_str origin,
                                                        limitree_error **error);

/* Adds the top-level names in `yaml` to the limit tree, or none of them if it
 * has a mistake; a name that the tree has already is one.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_add_limits(limitree_config *config,
                                                        limitree_str yaml,
                                                        limitree_str origin,
                                                        limitree_error **error);

/*
 * Turns the two files in which Boulder keeps its rate limits, `defaults` and
 * `overrides`, into the text of a limits.yaml that decides the same: see
 * docs/boulder.md.  LIMITREE_INVALID_CONFIG with a message for each mistake in
 * them; the origins name them in messages.  The text has a warning for each
 * override and default that has no effect.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_limits_from_boulder(
    limitree_str defaults, limitree_str defaults_origin, limitree_str overrides,
    limitree_str overrides_origin, limitree_text **yaml,
    limitree_error **error);

/* One finished limitree_authorize_async. */
typedef struct limitree_completion {
  void *request;               /* as given to limitree_authorize_async */
  const limitree_error *error; /* NULL if OK; borrowed until the call returns */
  limitree_decision decision;  /* valid if status is LIMITREE_OK */
  limitree_status status;      /* LIMITREE_OK or an error, never PENDING */
  int32_t reserved;
} limitree_completion;

/*
 * Called from within limitree_loop_run, with everything that one read from the
 * store answered.  It must not block, throw, or call limitree_limiter_free.
 */
typedef void (*limitree_completion_fn)(const limitree_completion *completions,
                                       size_t count, void *user_data);

/* Needed for the _async calls of a store that does not answer at once.
 * `free_user_data` may be NULL; it is called once, when neither the config nor
 * a limiter made from it needs `user_data` any more.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set_completion(
    limitree_config *config, limitree_completion_fn on_completion,
    void *user_data, void (*free_user_data)(void *user_data),
    limitree_error **error);

/* Returns nanoseconds since 1970-01-01 UTC; may be called from any thread that
 * uses the limiter.  It must not call the limiter, nor fork(). */
typedef int64_t (*limitree_clock_fn)(void *user_data);

/* For tests and replays: a store with a clock of its own then uses this one
 * instead.  NULL for `now_ns` goes back to the system's.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set_clock(limitree_config *config,
                                                       limitree_clock_fn now_ns,
                                                       void *user_data,
                                                       limitree_error **error);

/* ---- Limiter ------------------------------------------------------------ */

typedef struct limitree_limiter limitree_limiter;

/* Copies what it needs from `config`, which may be freed or reused.  Connects
 * to the store on first use.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_new(const limitree_config *config,
                                                  limitree_limiter **limiter,
                                                  limitree_error **error);

/* Completes what is pending with LIMITREE_CANCELLED, then releases.  No other
 * call on this limiter may be running.  Since 0.1. */
LIMITREE_API void limitree_limiter_free(limitree_limiter *limiter);

/* Whether a decision may have to wait for another machine: 1 if so, else 0.
 * The same as long as the limiter lives; 0 for NULL.  Since 0.1. */
LIMITREE_API int32_t
limitree_limiter_is_remote(const limitree_limiter *limiter);

/* Swaps the limit tree, all or nothing: if `yaml` has a mistake, the old tree
 * stays.  Running requests finish on the old one.  Buckets keep their state.
 * `origin` as above; files of overrides are read again, and with the same care.
 * Must not be called from the clock function.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_reload(limitree_limiter *limiter,
                                                     limitree_str yaml,
                                                     limitree_str origin,
                                                     limitree_error **error);

/* The same for limits in several texts: swaps the limit tree for that of
 * `config`, whose options have no effect.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_reload_config(
    limitree_limiter *limiter, const limitree_config *config,
    limitree_error **error);

/*
 * Charges `cost` to every limit along `path` if all of them allow it, else
 * nothing.  A cost of 0 only looks.  Blocks while the store answers.
 * Returns LIMITREE_OK whether allowed or denied.  LIMITREE_UNKNOWN_ROOT if the
 * tree has no such top-level name; LIMITREE_INVALID_ARGUMENT if the path is
 * empty, the cost negative, or a segment not what its `key` says.
 * Since 0.1.
 */
LIMITREE_API limitree_status limitree_authorize(limitree_limiter *limiter,
                                                const limitree_str *path,
                                                size_t path_size, int64_t cost,
                                                limitree_decision *decision,
                                                limitree_error **error);

/* limitree_authorize of {"user", user, action}: the action is denied if
 * decision->limited.  Since 0.1. */
LIMITREE_API limitree_status limitree_authorize_action_for_user(
    limitree_limiter *limiter, limitree_str user, limitree_str action,
    int64_t cost, limitree_decision *decision, limitree_error **error);

/* What limitree_authorize would answer; stores nothing.  Since 0.1. */
LIMITREE_API limitree_status limitree_peek(limitree_limiter *limiter,
                                           const limitree_str *path,
                                           size_t path_size, int64_t cost,
                                           limitree_decision *decision,
                                           limitree_error **error);

/* Charges `cost` to every limit along `path` whether it fits or not, down to
 * empty buckets: for costs known only afterwards, such as failed logins or
 * response bytes.  Never limited.  Since 0.1. */
LIMITREE_API limitree_status limitree_spend(limitree_limiter *limiter,
                                            const limitree_str *path,
                                            size_t path_size, int64_t cost,
                                            limitree_decision *decision,
                                            limitree_error **error);

/* Gives `cost` back to every limit along `path`, up to its capacity; a bucket
 * that does not exist is full and stays so.  Since 0.1. */
LIMITREE_API limitree_status limitree_refund(limitree_limiter *limiter,
                                             const limitree_str *path,
                                             size_t path_size, int64_t cost,
                                             limitree_decision *decision,
                                             limitree_error **error);

/* Forgets the buckets of every limit along `path`; if `leaf_only` is not 0,
 * those of the deepest node that has limits alone.  Since 0.1. */
LIMITREE_API limitree_status limitree_reset(limitree_limiter *limiter,
                                            const limitree_str *path,
                                            size_t path_size, int32_t leaf_only,
                                            limitree_error **error);

/*
 * Tells how busy this process is, from 0 (idle) to 1, which it is at first: a
 * limit with `overrun: {percent: N, when: idle}` admits N % x (1 - pressure)
 * above its capacity.  For this limiter alone, from the next request on.
 * LIMITREE_INVALID_ARGUMENT if it is not a number from 0 to 1.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_set_pressure(limitree_limiter *limiter,
                                                   double pressure,
                                                   limitree_error **error);

/* ---- Several paths, and the verdict of each level ------------------------ */

/* The most paths of one request, and the most levels that they may meet: each
 * path's are counted, also those that another path met before.  More are
 * answered with LIMITREE_INVALID_ARGUMENT before anything is done.  No path of
 * a tree has more levels either: such limits are not loaded. */
#define LIMITREE_MAX_PATHS 4096
#define LIMITREE_MAX_LEVELS 4096

/* A path, and what is asked for along it. */
typedef struct limitree_path {
  const limitree_str *segments;
  size_t size;
  int64_t cost;
} limitree_path;

enum {
  LIMITREE_AUTHORIZE = 0,
  LIMITREE_PEEK = 1,
  LIMITREE_SPEND = 2,
  LIMITREE_REFUND = 3
};

/* What a request does with the levels of one of its paths, within what their
 * limits' modes allow.  They have the numbers of the modes that are like them.
 */
enum {
  LIMITREE_PART_CHARGE = 0,        /* they count and are charged */
  LIMITREE_PART_SPEND_IF_FITS = 1, /* charged if that fits, never deny */
  LIMITREE_PART_CHECK = 2          /* they count, and are not charged */
};

/*
 * The general form of the functions above: one operation over the union of the
 * levels of all paths, all or nothing.  A bucket that several paths reach is
 * one level, with the largest cost.
 *
 * If `levels` is not NULL, the verdicts of the first `level_capacity` levels
 * are written to it, from the root to the leaf, path after path;
 * decision->level_count tells how many levels there were.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_decide(
    limitree_limiter *limiter, int32_t operation, const limitree_path *paths,
    size_t path_count, limitree_level *levels, size_t level_capacity,
    limitree_decision *decision, limitree_error **error);

/*
 * The same with a part for each path: `parts` has as many as `paths`, or is
 * NULL, and then all are charged.  The request is allowed if and only if all
 * levels fit that count; if it is, all are charged that are to be, but for
 * those of LIMITREE_PART_SPEND_IF_FITS that do not fit.  A bucket that several
 * paths reach counts if it does for one of them, and is charged if it is for
 * one.
 *
 * limitree_level.mode tells how a level took part: LIMITREE_SHADOW also if it
 * neither counted nor was charged, as a limit in mode check does on a path that
 * only spends.  LIMITREE_PEEK answers as LIMITREE_AUTHORIZE would,
 * LIMITREE_SPEND charges all but the checked, LIMITREE_REFUND gives back to
 * them.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_decide_parts(
    limitree_limiter *limiter, int32_t operation, const limitree_path *paths,
    const int32_t *parts, size_t path_count, limitree_level *levels,
    size_t level_capacity, limitree_decision *decision, limitree_error **error);

/* limitree_decide of LIMITREE_AUTHORIZE without verdicts.  Since 0.1. */
LIMITREE_API limitree_status limitree_authorize_all(limitree_limiter *limiter,
                                                    const limitree_path *paths,
                                                    size_t path_count,
                                                    limitree_decision *decision,
                                                    limitree_error **error);

/* ---- Without blocking ---------------------------------------------------- */

/*
 * As limitree_authorize, but never blocks.  LIMITREE_OK: *decision is filled
 * and no completion follows (the memory store always answers so).
 * LIMITREE_PENDING: *decision is untouched and exactly one completion carrying
 * `request` will follow, from within limitree_loop_run or
 * limitree_limiter_free, never from within this call.  Since 0.1.
 */
LIMITREE_API limitree_status
limitree_authorize_async(limitree_limiter *limiter, const limitree_str *path,
                         size_t path_size, int64_t cost, void *request,
                         limitree_decision *decision, limitree_error **error);

/* The same for limitree_decide; `levels` must live until the completion.
 * Since 0.1. */
LIMITREE_API limitree_status limitree_decide_async(
    limitree_limiter *limiter, int32_t operation, const limitree_path *paths,
    size_t path_count, void *request, limitree_level *levels,
    size_t level_capacity, limitree_decision *decision, limitree_error **error);

/* The same for limitree_decide_parts.  Since 0.1. */
LIMITREE_API limitree_status limitree_decide_parts_async(
    limitree_limiter *limiter, int32_t operation, const limitree_path *paths,
    const int32_t *parts, size_t path_count, void *request,
    limitree_level *levels, size_t level_capacity, limitree_decision *decision,
    limitree_error **error);

/*
 * The library has no thread of its own: blocking calls do their own I/O, and
 * pending asynchronous ones move when the caller's event loop says so.  Watch
 * the descriptor for reading (it covers connections, deadlines and reconnects;
 * epoll, kqueue, libuv and asyncio can watch it) and then call
 * limitree_loop_run, always on one thread.  -1: this store never has anything
 * pending, so there is nothing to watch.  Since 0.1.
 */
LIMITREE_API int limitree_loop_fd(limitree_limiter *limiter);
LIMITREE_API void limitree_loop_run(limitree_limiter *limiter);

/*
 * Whether a call that is started makes the descriptor readable, so that the
 * loop comes and sends it; 1 at first.  With 0 whoever starts calls also calls
 * limitree_loop_run, at the end of that turn of the loop and before it waits:
 * they are sent one turn sooner, and nobody is woken for it.  Since 0.1.
 */
LIMITREE_API void limitree_loop_set_wakeups(limitree_limiter *limiter, int on);

/* ---- Looking inside ------------------------------------------------------ */

/* Counters since the limiter was made.  256 bytes for ever, as above. */
typedef struct limitree_stats {
  int64_t allowed;         /* requests that authorize allowed */
  int64_t limited;         /* requests that authorize denied */
  int64_t shadow_limited;  /* requests that only a shadow level would deny */
  int64_t errors;          /* requests that got a negative status */
  int64_t reloads;         /* trees swapped in */
  int64_t limits;          /* limits in the tree */
  int64_t buckets;         /* buckets that are not full; memory store only */
  int64_t max_buckets;     /* as configured; memory store only */
  int64_t store_bytes;     /* memory taken by buckets; memory store only */
  int64_t evictions;       /* buckets forgotten to make room for others */
  int64_t from_deny_cache; /* of allowed and limited, those by this source */
  int64_t from_local;
  int64_t from_allow;
  int64_t from_deny;
  int64_t store_errors;  /* calls to the store that failed */
  int64_t connects;      /* connections made to servers */
  int64_t round_trips;   /* answers of servers */
  int64_t round_trip_ns; /* time until then, summed up */
  int64_t soft;          /* of the allowed: above a capacity, by its overrun */
  int64_t forgotten_limited; /* of evictions: buckets that would still deny */
  int64_t reserved[12];
} limitree_stats;

/* Takes time in proportion to the memory store's size: about a millisecond
 * per million buckets.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_stats(limitree_limiter *limiter,
                                                    limitree_stats *stats,
                                                    limitree_error **error);

/* Counters of one limit, summed over all callers.  They survive a reload that
 * keeps the limit's place in the tree.  128 bytes for ever, as above. */
typedef struct limitree_limit_stats {
  limitree_str policy;    /* as limitree_level.policy */
  int64_t allowed;        /* requests that met it and were allowed */
  int64_t limited;        /* requests that it denied */
  int64_t shadow_limited; /* requests that it would deny, in shadow mode */
  int64_t near_limit;     /* allowed ones that used most: near_limit */
  int64_t soft;           /* allowed ones above its capacity: overrun */
  int64_t reserved[9];
} limitree_limit_stats;

/* Writes the counters of the first `capacity` limits, in the order in which
 * they were first loaded, and to *count how many there are.  `stats` may be
 * NULL if `capacity` is 0.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_limit_stats(
    limitree_limiter *limiter, limitree_limit_stats *stats, size_t capacity,
    size_t *count, limitree_error **error);

/* How often a store failed for one reason.  64 bytes for ever where pointers
 * take 8. */
typedef struct limitree_reason_stats {
  const char *reason; /* as limitree_error_reason; static storage */
  int64_t errors;     /* calls that failed for it */
  int64_t troubles;   /* times it happened, also where trying again helped */
  int64_t reserved[5];
} limitree_reason_stats;

/* Writes the counters of the first `capacity` reasons, and to *count how many
 * there are.  `stats` may be NULL if `capacity` is 0.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_reason_stats(
    limitree_limiter *limiter, limitree_reason_stats *stats, size_t capacity,
    size_t *count, limitree_error **error);

#define LIMITREE_ROUND_TRIP_BUCKETS 16

/* Answers of servers by the time they took. */
typedef struct limitree_round_trips {
  int64_t below_ns[LIMITREE_ROUND_TRIP_BUCKETS]; /* ascending; INT64_MAX last */
  int64_t count[LIMITREE_ROUND_TRIP_BUCKETS];    /* not below the one before */
} limitree_round_trips;

LIMITREE_API limitree_status limitree_limiter_round_trips(
    limitree_limiter *limiter, limitree_round_trips *round_trips,
    limitree_error **error);

/* All statistics in the text format that Prometheus reads, version 0.0.4.  One
 * series for each limit, none for callers.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_prometheus(
    limitree_limiter *limiter, limitree_text **text, limitree_error **error);

/* Asks the store whether it is there, and blocks until it has answered.  The
 * time that took is written to *round_trip_ns, which may be NULL.  The memory
 * store answers at once.  Since 0.1. */
LIMITREE_API limitree_status limitree_ping(limitree_limiter *limiter,
                                           int64_t *round_trip_ns,
                                           limitree_error **error);

/* The tree as the library understood it, for people to read: one line for each
 * node and limit.  The wording may change.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_describe(
    limitree_limiter *limiter, limitree_text **text, limitree_error **error);

/* How `path` walks down the tree, for people to read: the child taken for each
 * segment and why, the levels met, their bucket names and parameters.  The
 * wording may change.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_explain(limitree_limiter *limiter,
                                                      const limitree_str *path,
                                                      size_t path_size,
                                                      limitree_text **text,
                                                      limitree_error **error);

/* ---- Texts that mean numbers --------------------------------------------- */

/* Reads a duration as every option and limits.yaml do: "500ms", "1m30s", "5
 * minutes", "1.5" (seconds).  LIMITREE_INVALID_CONFIG for anything else, and
 * for less than 0; the message goes on after the name of what the duration is
 * for: "must be a duration such as ...".  Since 0.1. */
LIMITREE_API limitree_status limitree_parse_duration(limitree_str text,
                                                     int64_t *duration_ns,
                                                     limitree_error **error);

/* A limit as a text says it.  Filled by the library; plain data of 128 bytes
 * for ever, as above. */
typedef struct limitree_rate {
  int64_t count;     /* tokens that a bucket gains ... */
  int64_t period_ns; /* ... in this time */
  int64_t burst;     /* tokens in a full bucket */
  int32_t size;      /* bytes of `name` without its terminator */
  int32_t reserved_32;
  char name[72]; /* "30/1m", "30/1m-burst5": the same for rates that are the
                    same, so that it can name the limit in a tree */
  int64_t reserved[3];
} limitree_rate;

/*
 * Reads limits in words: "30/minute", "30 per 60s burst 16", and several with
 * ';', ',' or '|' between them.  It is what may stand after `limits:` in a
 * limits.yaml; docs/limits-yaml.md has the grammar.  A tree takes every rate
 * that is read.  LIMITREE_INVALID_CONFIG with a message for each mistake.
 *
 * Writes the first `capacity` rates, and to *count how many there are.  `rates`
 * may be NULL if `capacity` is 0.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_parse_rates(limitree_str text,
                                                  limitree_rate *rates,
                                                  size_t capacity,
                                                  size_t *count,
                                                  limitree_error **error);

/* ---- HTTP responses ------------------------------------------------------ */

/* The name of a style of header fields: docs/http.md describes each.  Styles
 * count from 0; NULL if `index` is too large.  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_http_style_at(size_t index);

/* 1 if fields of that style name every limit, so that limitree_http_headers
 * needs the levels; else 0.  Since 0.1. */
LIMITREE_API int32_t limitree_http_style_needs_levels(size_t index);

/*
 * The header fields of a response, by the decision about its request: those of
 * `style`, and Retry-After if the request was denied and a wait helps.  None
 * for the style "none", nor where no limit lies on the path.  The text is that
 * of HTTP/1.1, "Name: value" and CR LF for each field, without a terminator.
 *
 * `levels` are those that limitree_decide has written with this decision, or
 * NULL if the caller has none: LIMITREE_INVALID_ARGUMENT if the style needs
 * them.  The resets of the style "legacy" are seconds from now if `now_ns` is
 * 0, else seconds since 1970, and then `now_ns` is the time.
 *
 * *size is set to the size of the text.  If it is larger than `capacity` the
 * text is cut off there: call again with a buffer of that size.  `text` may be
 * NULL if `capacity` is 0.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_http_headers(
    limitree_str style, const limitree_decision *decision,
    const limitree_level *levels, size_t level_count, int64_t now_ns,
    char *text, size_t capacity, size_t *size, limitree_error **error);

/*
 * The body of a denial, application/problem+json, as one line of JSON in UTF-8;
 * `levels`, `text` and *size are as above.  `status` is that of the response,
 * 400 to 599, mostly 429.  LIMITREE_INVALID_ARGUMENT if the request was
 * allowed.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_http_problem(
    int32_t status, const limitree_decision *decision,
    const limitree_level *levels, size_t level_count, char *text,
    size_t capacity, size_t *size, limitree_error **error);

/* ---- Addresses of clients ------------------------------------------------ */

/* An IP address in its one canonical form.  Plain data of 64 bytes for ever. */
typedef struct limitree_ip {
  char text[48];    /* RFC 5952, and a terminator: "2001:db8::1" */
  int32_t size;     /* bytes of `text` without its terminator */
  int32_t version;  /* 4 or 6 */
  int32_t believed; /* entries of the header that were followed */
  int32_t reserved;
} limitree_ip;

/* Reads an IP address as servers and proxies write it: with a port, in
 * brackets, with a zone, IPv4 inside of IPv6 (which is IPv4).  Of an IPv6
 * address the first `ipv6_prefix` (1 to 128) bits are kept, the others zero.
 * Since 0.1. */
LIMITREE_API limitree_status limitree_canonical_ip(limitree_str address,
                                                   int32_t ipv6_prefix,
                                                   limitree_ip *ip,
                                                   limitree_error **error);

/* How the header by which proxies name their clients is written. */
enum {
  LIMITREE_X_FORWARDED_FOR = 0, /* addresses, with commas between them */
  LIMITREE_FORWARDED = 1        /* RFC 7239: for=192.0.2.1;proto=https */
};

/* Which proxies are believed.  May be used from any thread. */
typedef struct limitree_proxies limitree_proxies;

/*
 * Trusts the nearest `trusted_hops` proxies (0 to 100), or those whose address
 * lies in `trusted`: networks such as "10.0.0.0/8", single addresses, and
 * "unix" for a peer without an address.  Not both; neither trusts nobody.
 * `ipv6_prefix` is as for limitree_canonical_ip.  LIMITREE_INVALID_CONFIG if
 * any of it is refused.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_proxies_new(
    int32_t header, int32_t trusted_hops, const limitree_str *trusted,
    size_t trusted_count, int32_t ipv6_prefix, limitree_proxies **proxies,
    limitree_error **error);
LIMITREE_API void limitree_proxies_free(limitree_proxies *proxies);

/*
 * The address of the client that a request came from.  `peer` is the other end
 * of the connection, empty where that has no address; `lines` are the values
 * of the header in the order of the request, none if it was absent.
 *
 * From the peer on, and then from the last entry of the header to the first,
 * the walk goes on while the address it has reached is a trusted one; where it
 * ends, there is the client.  An entry that is no address ends it at the proxy
 * that wrote that.  So what a client writes itself is never reached.
 * LIMITREE_INVALID_ARGUMENT if it ends at a peer without an address.
 * Since 0.1.
 */
LIMITREE_API limitree_status limitree_client_ip(const limitree_proxies *proxies,
                                                limitree_str peer,
                                                const limitree_str *lines,
                                                size_t line_count,
                                                limitree_ip *ip,
                                                limitree_error **error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LIMITREE_H */
