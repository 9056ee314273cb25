/*
 * limitree.h - the C interface of limitree, a rate-limiting library.
 *
 * A limiter answers one question: may the caller named by a path, such as
 * {"user", "alex", "trade"}, act now?  Every limit met on the way down the
 * limit tree is checked in one step: all of them are charged, or none is.
 *
 * Conventions of every function below:
 *
 *   Handles   Opaque and typed.  x_new() makes one, x_free() releases it, and
 *             x_free(NULL) does nothing.  NULL in another pointer argument
 *             gives LIMITREE_INVALID_ARGUMENT unless a comment allows it;
 *             `error` may always be NULL.
 *   Order     Handle first, then inputs, then outputs; `error` comes last.
 *   Strings   limitree_str: bytes and a size, no terminator needed.  Inputs
 *             are borrowed until the call returns, never longer.
 *   Errors    Negative status: failed, outputs untouched.  If `error` is not
 *             NULL, *error then holds an error the caller must free; on
 *             success *error is NULL.  A denied action is not an error.
 *   Threads   A limiter may be used from any thread.  A config belongs to one
 *             thread at a time.  No state is kept per thread.
 *   Processes fork() is safe at any time; afterwards each process has its own
 *             memory store.  A shm:// store is shared by all of them.
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

/* The OpenSSL that TLS uses, found at run time or linked into this library:
 * "OpenSSL 3.0.17 1 Jul 2025".  Empty in a build without Redis.  Static
 * storage.  Since 0.1. */
LIMITREE_API const char *limitree_openssl_version(void);

/* The algorithms in the form that follows `algorithm:` in limits.yaml, from
 * index 0 on: "gcra", "fixed_window", ..., "leaky_bucket, drain: step".  NULL
 * after the last one.  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_algorithm_at(size_t index);

/* ---- Values ------------------------------------------------------------- */

/* Borrowed bytes.  A path segment may contain any byte, even ':' and '*'. */
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
  LIMITREE_STORE_PROTOCOL = -6,    /* the store's answer makes no sense */
  LIMITREE_CANCELLED = -7,         /* the handle was freed first */
  LIMITREE_UNKNOWN_ROOT = -8,      /* no such top-level name in the tree */
  LIMITREE_INTERNAL = -9           /* a bug in limitree; please report */
};

/* "store_timeout" for LIMITREE_STORE_TIMEOUT; "unknown" for other values. */
LIMITREE_API const char *limitree_status_name(limitree_status status);

/* retry_after_ns of a cost above the capacity: no wait is long enough. */
#define LIMITREE_NEVER INT64_MAX

/* Bits of limitree_decision.flags. */
enum {
  LIMITREE_UNLIMITED = 1u << 0, /* there is no limit on this path */
  LIMITREE_SHADOWED = 1u << 1,  /* a shadow-mode limit would have denied */
  LIMITREE_DEGRADED = 1u << 2,  /* the store failed; on_store_error decided */
  LIMITREE_CACHED = 1u << 3,    /* denied from the local deny cache */
  LIMITREE_SOFT = 1u << 4,      /* allowed only thanks to an overrun */
  /* The memory of the store was full: it forgot a bucket that would deny. */
  LIMITREE_FORGOT = 1u << 5,
  /* Only of limitree_envoy_response: the request holds units or slots. */
  LIMITREE_HOLDS = 1u << 6
};

/* Who decided: limitree_decision.source.  LOCAL, ALLOW and DENY come from
 * on_store_error, and set the flag LIMITREE_DEGRADED. */
enum {
  LIMITREE_SOURCE_STORE = 0,
  LIMITREE_SOURCE_DENY_CACHE = 1, /* an earlier denial that still holds */
  LIMITREE_SOURCE_LOCAL = 2,      /* this process's memory */
  LIMITREE_SOURCE_ALLOW = 3,      /* allowed without a check */
  LIMITREE_SOURCE_DENY = 4,       /* denied without a check */
  LIMITREE_SOURCE_LEASE = 5       /* by tokens that were taken before */
};

/* "deny_cache" for LIMITREE_SOURCE_DENY_CACHE; "unknown" for other values.
 * Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_source_name(int32_t source);

/*
 * A decision, with the numbers of the binding level of the path: a denying
 * level before an allowing one, then the longest wait, then the fewest tokens
 * left, then the deepest level.  Filled by the library; plain data, nothing to
 * free.  Always 80 bytes: new fields are taken from `reserved`, which is zero.
 */
typedef struct limitree_decision {
  int64_t limit;          /* capacity of the binding level; -1: unlimited */
  int64_t remaining;      /* cost that still fits at once; -1: unlimited */
  int64_t retry_after_ns; /* -1 if allowed, else the wait or LIMITREE_NEVER */
  int64_t reset_after_ns; /* until every counted level is full again, >= 0 */
  int64_t next_after_ns;  /* until an identical request fits, >= 0 */
  int32_t limited;        /* 0 or 1 */
  uint32_t flags;         /* LIMITREE_UNLIMITED | ... */
  int32_t level;          /* index of the binding level; -1: none */
  int32_t level_count;    /* levels that were checked */
  int32_t source;         /* LIMITREE_SOURCE_STORE ... */
  int32_t held;           /* levels that hold what was reserved; of a hold that
                             is settled, cancelled or extended: those where it
                             still was */
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

/* "shadow" for LIMITREE_SHADOW, as in limits.yaml; "unknown" for other values.
 * Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_mode_name(int32_t mode);

/*
 * The verdict of one level.  Filled by the library; plain data, nothing to
 * free.  Always 128 bytes if pointers take 8: new fields are taken from
 * `reserved`, which is zero.
 */
typedef struct limitree_level {
  limitree_str policy;    /* the limit's place in the tree: "user:carol";
                             lives as long as the limiter */
  int64_t limit;          /* capacity, in tokens */
  int64_t remaining;      /* tokens left, 0 ... limit */
  int64_t retry_after_ns; /* -1 if it fits, else the wait or LIMITREE_NEVER */
  int64_t reset_after_ns; /* until the bucket is full again, >= 0 */
  int64_t next_after_ns;  /* until an identical request fits, >= 0 */
  int64_t window_ns;      /* the period of a window, or the time in which an
                             empty bucket fills; 0 if the limit is how many
                             are held at once */
  int64_t cost;           /* tokens requested at this level */
  int32_t limited;        /* 1 if the cost does not fit here */
  int32_t charged;        /* 1 if the bucket was written */
  int32_t mode;           /* LIMITREE_ENFORCE ... */
  int32_t path;           /* index of the first path that met it */
  int32_t soft;           /* 1 if it fits only thanks to the overrun */
  int32_t reserved_32;
  int64_t grows_after_ns; /* until `remaining` grows without other requests,
                             by the limit's algorithm; 0 if the bucket is
                             full */
  limitree_str unit;      /* what the limit counts: "request", "tokens"; lives
                             as long as the limiter */
  int64_t reserved[1];
} limitree_level;

/* Text that the library made for the caller. */
typedef struct limitree_text limitree_text;

/* UTF-8 with a terminator after its last byte.  Lives as long as the text. */
LIMITREE_API limitree_str limitree_text_str(const limitree_text *text);

/* Warnings about the input, one line each: "overrides.yaml:7:9: ...".  NULL if
 * `index` is too large.  They live as long as the text.  Since 0.1. */
LIMITREE_API size_t limitree_text_warning_count(const limitree_text *text);
LIMITREE_API const char *limitree_text_warning_at(const limitree_text *text,
                                                  size_t index);

LIMITREE_API void limitree_text_free(limitree_text *text);

/* ---- Errors ------------------------------------------------------------- */

typedef struct limitree_error limitree_error;

LIMITREE_API limitree_status limitree_error_status(const limitree_error *error);

/* One line of UTF-8, e.g. "limits.yaml:7:9: count must be greater than 0, is
 * -3"; the first of several.  Lives as long as the error. */
LIMITREE_API const char *limitree_error_message(const limitree_error *error);

/* A limits.yaml with mistakes gives one message for each, in the order of the
 * file; any other error has one message.  NULL if `index` is too large.
 * Since 0.1. */
LIMITREE_API size_t limitree_error_count(const limitree_error *error);
LIMITREE_API const char *limitree_error_message_at(const limitree_error *error,
                                                   size_t index);

/* The kind of failure of a store, as one word: "readonly", "timeout"; empty for
 * all other errors.  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_error_reason(const limitree_error *error);

LIMITREE_API void limitree_error_free(limitree_error *error);

/* ---- Config ------------------------------------------------------------- */

typedef struct limitree_config limitree_config;

/* Defaults: memory store, no limits.  NULL if out of memory.  Since 0.1. */
LIMITREE_API limitree_config *limitree_config_new(void);
LIMITREE_API void limitree_config_free(limitree_config *config);

/* The name of an option: docs/configuration.md describes each.  Options count
 * from 0; NULL if `index` is too large.  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_option_at(size_t index);

/* Sets one option, e.g. "max_buckets" to "250000".  The names are the same in
 * every language.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set(limitree_config *config,
                                                 const char *name,
                                                 limitree_str value,
                                                 limitree_error **error);

/* Checks the options together, as limitree_limiter_new does first.  Does not
 * open the store, and so creates no shm:// file.  LIMITREE_INVALID_CONFIG if
 * they contradict each other.  Since 0.1. */
LIMITREE_API limitree_status
limitree_config_check(const limitree_config *config, limitree_error **error);

/* Replaces the limit tree with the one in `yaml`.  `origin` is the name of the
 * file with that text: error messages begin with it, and files that `overrides`
 * names are in its folder.  If there is no file, pass any word without a '/';
 * the folder is then the working directory.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set_limits(limitree_config *config,
                                                        limitree_str yaml,
                                                        limitree_str origin,
                                                        limitree_error **error);

/* Adds the top-level names in `yaml` to the limit tree, or none of them if
 * there is a mistake, such as a name that the tree already has.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_add_limits(limitree_config *config,
                                                        limitree_str yaml,
                                                        limitree_str origin,
                                                        limitree_error **error);

/* The text of a file, and its name for messages. */
typedef struct limitree_file {
  limitree_str text;
  limitree_str name;
} limitree_file;

/*
 * Adds the descriptors in `files`, which are configuration files of
 * envoyproxy/ratelimit: see docs/descriptors.md.  None are added if there is a
 * mistake: LIMITREE_INVALID_CONFIG with a message for each mistake of each
 * file, in their order.  If `merge` is not 0, these files may add top-level
 * descriptors to a domain that is known.  A limiter keeps the descriptors of
 * the config that it was made from until limitree_limiter_reload_config or
 * limitree_limiter_reload_descriptors.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_config_add_descriptors(
    limitree_config *config, const limitree_file *files, size_t file_count,
    int32_t merge, limitree_error **error);

/*
 * Converts the descriptors of `config` to the text of an equivalent
 * limits.yaml: see docs/descriptors.md.  The text has a warning for each rule,
 * and for each setting of a rule, that has no equivalent and is left out.
 * LIMITREE_INVALID_ARGUMENT if there are no descriptors.  Since 0.1.
 */
LIMITREE_API limitree_status
limitree_limits_from_descriptors(const limitree_config *config,
                                 limitree_text **yaml, limitree_error **error);

/*
 * Converts the two files in which Boulder keeps its rate limits, `defaults` and
 * `overrides`, to the text of an equivalent limits.yaml: see docs/boulder.md.
 * LIMITREE_INVALID_CONFIG with a message for each mistake; messages name the
 * files by their origins.  The text has a warning for each override and default
 * without effect.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_limits_from_boulder(
    limitree_str defaults, limitree_str defaults_origin, limitree_str overrides,
    limitree_str overrides_origin, limitree_text **yaml,
    limitree_error **error);

/* One finished call that was LIMITREE_PENDING. */
typedef struct limitree_completion {
  void *request;               /* as given to that call */
  const limitree_error *error; /* NULL if OK; borrowed until the call returns */
  limitree_decision decision;  /* valid if status is LIMITREE_OK */
  limitree_status status;      /* LIMITREE_OK or an error, never PENDING */
  int32_t reserved;
} limitree_completion;

/*
 * Called from limitree_loop_run, with all calls that were answered by one read
 * from the store.  It must not block, throw, or free the handle that the calls
 * belong to.
 */
typedef void (*limitree_completion_fn)(const limitree_completion *completions,
                                       size_t count, void *user_data);

/* Needed for _async calls with every store except memory://.  `free_user_data`
 * may be NULL; it is called once, when neither the config nor a limiter made
 * from it needs `user_data` any more.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set_completion(
    limitree_config *config, limitree_completion_fn on_completion,
    void *user_data, void (*free_user_data)(void *user_data),
    limitree_error **error);

/* A command that a client of the program is to send.  Lives until the function
 * that takes it returns.  Always 96 bytes if pointers take 8, as above. */
typedef struct limitree_command {
  uint64_t token;            /* for limitree_client_reply; never 0 */
  limitree_str bytes;        /* as servers read it: "*2\r\n$4\r\nPING..." */
  const limitree_str *words; /* the same in words; they may hold any byte */
  size_t word_count;
  size_t first_key;   /* among the words; 0: it has no key */
  int64_t timeout_ns; /* an answer counts for this long */
  int64_t reserved[5];
} limitree_command;

/*
 * Sends a command with a client of the program, which may still wait for it
 * when this returns.  Called by functions that ask the store and by
 * limitree_loop_run, on their threads, without a lock.  It may call
 * limitree_client_reply at once.  It must not throw or free a handle.
 */
typedef void (*limitree_send_fn)(const struct limitree_command *command,
                                 void *user_data);

enum {
  LIMITREE_CLIENT_CLUSTER = 1 /* sends each command to the node of its keys */
};

/*
 * Has a client of the program ask Redis or Valkey, in place of connections of
 * the library: for servers that need a configuration, or a network, that only
 * the program has.  Replaces the option `store`; options about connections have
 * no effect.  All else is as with redis://, and the same buckets are used:
 * `timeout`, on_store_error, the deny cache, and what happens while the servers
 * do not answer.  `flags` are LIMITREE_CLIENT_..., or 0.  `free_user_data` as
 * in limitree_config_set_completion.  Since 0.1.
 *
 * Functions that block wait for limitree_client_reply from another thread, or
 * from `send`.  Functions that do not block send from limitree_loop_run.
 */
LIMITREE_API limitree_status limitree_config_set_client(
    limitree_config *config, limitree_send_fn send, int32_t flags,
    void *user_data, void (*free_user_data)(void *user_data),
    limitree_error **error);

/* Events of a store. */
enum {
  LIMITREE_STORE_AWAY = 1, /* it begins to fail */
  LIMITREE_STORE_BACK = 2  /* it has answered for some seconds again */
};

/* Receives a message for the program's log, on the thread whose call noticed
 * the event.  `text` lives until the function returns.  The function must not
 * call the limiter, block, or throw. */
typedef void (*limitree_log_fn)(int32_t event, limitree_str text,
                                void *user_data);

/* Sets the function that logs one message when a store begins to fail, with
 * what users see meanwhile, and one when it answers again.  `free_user_data` as
 * in limitree_config_set_completion.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set_log(
    limitree_config *config, limitree_log_fn log, void *user_data,
    void (*free_user_data)(void *user_data), limitree_error **error);

/* Returns nanoseconds since 1970-01-01 UTC; may be called from any thread that
 * uses the limiter.  It must not call the limiter or fork(). */
typedef int64_t (*limitree_clock_fn)(void *user_data);

/* For tests and replays: replaces the clock of the system, and of a store that
 * has its own.  NULL for `now_ns` restores them.  Since 0.1. */
LIMITREE_API limitree_status limitree_config_set_clock(limitree_config *config,
                                                       limitree_clock_fn now_ns,
                                                       void *user_data,
                                                       limitree_error **error);

/* ---- Limiter ------------------------------------------------------------ */

typedef struct limitree_limiter limitree_limiter;

/* Copies `config`, which may be freed or reused.  Connects to servers on first
 * use.  Opens or creates the file of a shm:// store: LIMITREE_STORE_UNAVAILABLE
 * if that fails.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_new(const limitree_config *config,
                                                  limitree_limiter **limiter,
                                                  limitree_error **error);

/*
 * Makes another handle of the same limiter, with an event loop of its own, for
 * a program that runs a loop on each of several threads.  The handles share
 * limits, options, buckets, statistics and everything else; any of them may be
 * passed to any function.  But a call that does not block belongs to the handle
 * that started it: it uses the connections of that handle's loop, and completes
 * on the thread that runs that loop.  Its completion gets this `user_data`,
 * which may be NULL, instead of the config's.  Since 0.1.
 */
LIMITREE_API limitree_status
limitree_limiter_new_loop(limitree_limiter *limiter, void *user_data,
                          limitree_limiter **other, limitree_error **error);

/* Completes the pending calls of this handle with LIMITREE_CANCELLED, then
 * releases it; no other call on this handle may be running.  The limiter lives
 * until its last handle is freed, in any order.  Since 0.1. */
LIMITREE_API void limitree_limiter_free(limitree_limiter *limiter);

/* 1 if a decision may have to wait for another machine, else 0.  Never changes
 * while the limiter lives; 0 for NULL.  Since 0.1. */
LIMITREE_API int32_t
limitree_limiter_is_remote(const limitree_limiter *limiter);

/* 1 if other processes can share the buckets, so that the store can also fail:
 * every remote store, and shm://; else 0.  Never changes while the limiter
 * lives; 0 for NULL.  Since 0.1. */
LIMITREE_API int32_t
limitree_limiter_is_shared(const limitree_limiter *limiter);

/* Replaces the limit tree, all or nothing: if there is a mistake in `yaml` or
 * in a file of overrides, which are read again, the old tree stays.  Running
 * requests finish on the old tree.  Buckets keep their state.  `origin` as
 * above.  Names that limitree_limiter_put has added stay, and so do the
 * descriptors.  Must not be called from the clock function.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_reload(limitree_limiter *limiter,
                                                     limitree_str yaml,
                                                     limitree_str origin,
                                                     limitree_error **error);

/* The same for limits in several texts and for descriptors: replaces the limit
 * tree and the descriptors with those of `config`, whose options have no
 * effect.  Both are replaced in one step: no request meets new limits together
 * with old descriptors, or the reverse.  A config without descriptors removes
 * them.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_reload_config(
    limitree_limiter *limiter, const limitree_config *config,
    limitree_error **error);

/* Which top-level names limitree_limiter_put may replace. */
enum {
  LIMITREE_REPLACE_NONE = 0,
  LIMITREE_REPLACE_ANY = 1,
  LIMITREE_REPLACE_ADDED = 2, /* those that limitree_limiter_put has added */
  LIMITREE_NO_FILES = 1 << 8  /* more: `overrides` of a file is a mistake */
};

/*
 * Adds one top-level name to the limit tree, or replaces it.  `yaml` is what
 * stands below `name` in a limits.yaml: "{limits: 5/minute}".  Only `yaml` and
 * the files of overrides that it names are read.  The call is all or nothing,
 * and `origin` is as above.  Running requests finish on the old tree, buckets
 * keep their state.  LIMITREE_INVALID_CONFIG if there are mistakes, or if the
 * name exists and may not be replaced: `replace` is one of LIMITREE_REPLACE_*,
 * and with LIMITREE_NO_FILES no file is read, for text from another machine.
 * Such a text may stand for 20,000 nodes and for 1 MiB of names of limits, and
 * LIMITREE_OUT_OF_MEMORY says that all names that were added, and the counters
 * of those that are gone, would take more than 256 MiB.
 *
 * A reload keeps the names that were added, and fails if its own limits have
 * one of them.  A name that was replaced gets the limits of the reload.
 *
 * Calls to this function and to reload may run at the same time: each sees the
 * outcome of the earlier ones.  Must not be called from the clock function.
 * Since 0.1.
 */
LIMITREE_API limitree_status limitree_limiter_put(
    limitree_limiter *limiter, limitree_str name, limitree_str yaml,
    limitree_str origin, int32_t replace, limitree_error **error);

/* Removes a top-level name that limitree_limiter_put has added, as that
 * function replaces it; LIMITREE_UNKNOWN_ROOT if it has added no such name. Its
 * buckets stay in the store until they are full.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_remove(limitree_limiter *limiter,
                                                     limitree_str name,
                                                     limitree_error **error);

/*
 * Charges `cost` to every limit along `path` if all of them allow it, else
 * charges nothing.  A cost of 0 only looks.  Blocks while the store answers.
 * Returns LIMITREE_OK whether allowed or denied.  LIMITREE_UNKNOWN_ROOT if the
 * tree has no such top-level name.  LIMITREE_INVALID_ARGUMENT if the path is
 * empty, the cost is negative, or a segment does not match its `key`.
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

/* Answers as limitree_authorize would, and charges nothing.  Like any request,
 * it repairs a bucket that owes more than it holds, because its limit was
 * relaxed or a clock stepped back; LIMITREE_LOOK does not do that.  Since
 * 0.1. */
LIMITREE_API limitree_status limitree_peek(limitree_limiter *limiter,
                                           const limitree_str *path,
                                           size_t path_size, int64_t cost,
                                           limitree_decision *decision,
                                           limitree_error **error);

/* Charges `cost` to every limit along `path` even if it does not fit; a bucket
 * cannot become less than empty.  For costs known afterwards, such as failed
 * logins or response bytes.  Never limited.  Since 0.1. */
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

/* Forgets the buckets of every limit along `path` or, if `leaf_only` is not 0,
 * only those of the deepest node that has limits; limits that count denials
 * stay as they are, and so do blocks.  Since 0.1. */
LIMITREE_API limitree_status limitree_reset(limitree_limiter *limiter,
                                            const limitree_str *path,
                                            size_t path_size, int32_t leaf_only,
                                            limitree_error **error);

/*
 * Blocks whoever the path names: until `duration_ns` from now every request is
 * denied that meets the deepest limit with `block: true` on the path, whatever
 * an earlier call said.  LIMITREE_INVALID_ARGUMENT if there is no such limit,
 * or for a duration that is not more than 0 and at most 100 years;
 * LIMITREE_STORE_UNAVAILABLE if the store fails, whatever on_store_error says.
 * limitree_unblock ends it, and forgets what limits of that node with `charge:
 * denials` have counted.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_block(limitree_limiter *limiter,
                                            const limitree_str *path,
                                            size_t path_size,
                                            int64_t duration_ns,
                                            limitree_error **error);
LIMITREE_API limitree_status limitree_unblock(limitree_limiter *limiter,
                                              const limitree_str *path,
                                              size_t path_size,
                                              limitree_error **error);

/*
 * Sets how busy this process is, from 0 (idle) to 1, the initial value: a limit
 * with `overrun: {percent: N, when: idle}` admits N % x (1 - pressure) above
 * its capacity.  Only for this limiter, from the next request on.
 * LIMITREE_INVALID_ARGUMENT if it is not a number from 0 to 1.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_set_pressure(limitree_limiter *limiter,
                                                   double pressure,
                                                   limitree_error **error);

/* ---- Several paths, and the verdict of each level ------------------------ */

/* The most paths of one request, and the most levels that all of them together
 * may meet; a level that two paths meet counts twice.  A larger request gives
 * LIMITREE_INVALID_ARGUMENT and has no effect.  Limits with a path of more
 * levels are not loaded. */
#define LIMITREE_MAX_PATHS 4096
#define LIMITREE_MAX_LEVELS 4096

enum {
  LIMITREE_AUTHORIZE = 0,
  LIMITREE_PEEK = 1,
  LIMITREE_SPEND = 2,
  LIMITREE_REFUND = 3,
  LIMITREE_LOOK = 4 /* LIMITREE_PEEK from outside: writes nothing at all */
};

/* What a request does with the levels of one path, as far as the modes of their
 * limits allow.  A part has the number of the mode that is most like it. */
enum {
  LIMITREE_PART_CHARGE = 0,        /* they count and are charged */
  LIMITREE_PART_SPEND_IF_FITS = 1, /* never deny; charged if the cost fits */
  LIMITREE_PART_CHECK = 2          /* they count but are not charged */
};

/* A path, the cost to charge along it, and what the request does with its
 * levels.  A part that is 0, as in `{segments, size, cost}`, charges them; one
 * that is not named above is LIMITREE_INVALID_ARGUMENT. */
typedef struct limitree_path {
  const limitree_str *segments;
  size_t size;
  int64_t cost;
  int32_t part; /* LIMITREE_PART_CHARGE ... */
} limitree_path;

/*
 * The general form of the functions above: one operation on the union of the
 * levels of all paths, all or nothing.  A bucket that several paths reach is
 * one level, with the largest cost.
 *
 * The request is allowed if and only if all levels that count fit.  Then all
 * levels are charged, except levels that are only checked, and levels of
 * LIMITREE_PART_SPEND_IF_FITS that do not fit.  A bucket that several paths
 * reach counts if it counts for one of them, and is charged if it is charged
 * for one of them.
 *
 * If `levels` is not NULL, it takes the verdicts of the first `level_capacity`
 * levels, from the root to the leaf, path after path.  decision->level_count is
 * the number of levels.  limitree_level.mode is how a level took part.
 * LIMITREE_SHADOW also stands for a level that neither counted nor was charged:
 * a limit in mode check on a path that only spends.
 *
 * LIMITREE_PEEK answers as LIMITREE_AUTHORIZE would, LIMITREE_SPEND charges all
 * levels that are not only checked, LIMITREE_REFUND gives back to the same
 * levels.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_decide(
    limitree_limiter *limiter, int32_t operation, const limitree_path *paths,
    size_t path_count, limitree_level *levels, size_t level_capacity,
    limitree_decision *decision, limitree_error **error);

/* The units of one kind that a request takes: the `unit` of a limit. */
typedef struct limitree_cost {
  limitree_str unit; /* "tokens" */
  int64_t units;     /* >= 0 */
} limitree_cost;

/*
 * limitree_decide for limits of several units.  The cost of a path is its cost
 * in "request"; `costs` has the costs in all other units, on all paths.  A
 * limit with `unit: tokens` takes the cost in "tokens", times its own `cost`.
 *
 * LIMITREE_INVALID_ARGUMENT if a limit counts a unit that `costs` does not
 * name: then there would be no limit.  But a request whose paths cost 0 and
 * that names no costs at all only looks.  The same for a unit that no limit of
 * the tree counts, for one that is named twice, for "request", and for a
 * negative cost.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_decide_costs(
    limitree_limiter *limiter, int32_t operation, const limitree_path *paths,
    size_t path_count, const limitree_cost *costs, size_t cost_count,
    limitree_level *levels, size_t level_capacity, limitree_decision *decision,
    limitree_error **error);

/* ---- Reservations: costs known afterwards, and how many at once ---------- */

/* A reservation: opaque, plain data, nothing to free.  Always 32 bytes. */
typedef struct limitree_hold {
  uint64_t id[2];
  uint64_t reserved[2];
} limitree_hold;

/* The cost of a path, or the units of a cost, that were used as they were
 * held. */
#define LIMITREE_AS_HELD (-1)

/* The longest time of a hold, 24 hours, and the most holds of one bucket. */
#define LIMITREE_MAX_HOLD_NS INT64_C(86400000000000)
#define LIMITREE_MAX_HOLDS 10000

/*
 * Decides like limitree_decide_costs with LIMITREE_AUTHORIZE.  If the request
 * is allowed, limits with `hold` hold its units, for `hold_ns` or, if that is
 * 0, for as long as each limit says; all other limits are charged.  Held units
 * count as used.  What nobody settles until then is charged, or is free if the
 * limit says `unsettled: free`.
 *
 * Sets *hold, which goes to limitree_settle, _cancel and _extend with the same
 * paths; decision->held is the number of levels that hold.  Sets it also for
 * LIMITREE_STORE_TIMEOUT: the store may hold, and limitree_cancel ends that.
 * LIMITREE_INVALID_ARGUMENT if `hold_ns` is negative or more than
 * LIMITREE_MAX_HOLD_NS, and as for limitree_decide_costs.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_reserve(
    limitree_limiter *limiter, const limitree_path *paths, size_t path_count,
    const limitree_cost *costs, size_t cost_count, int64_t hold_ns,
    limitree_hold *hold, limitree_level *levels, size_t level_capacity,
    limitree_decision *decision, limitree_error **error);

/*
 * Ends what a reservation holds, and charges what was used: the cost of each
 * path in "request", and `costs` in other units, both times the `cost` of the
 * limit.  LIMITREE_AS_HELD, and a unit that is not named, charges what was
 * held.  More than was held is charged, too; a bucket cannot become less than
 * empty.  Never limited.
 *
 * decision->held is the number of levels that were settled.  It is 0 if the
 * reservation was settled or cancelled before, or has ended: then nothing
 * changes.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_settle(
    limitree_limiter *limiter, const limitree_hold *hold,
    const limitree_path *paths, size_t path_count, const limitree_cost *costs,
    size_t cost_count, limitree_decision *decision, limitree_error **error);

/* limitree_settle of nothing: gives back all that is held.  Since 0.1. */
LIMITREE_API limitree_status limitree_cancel(limitree_limiter *limiter,
                                             const limitree_hold *hold,
                                             const limitree_path *paths,
                                             size_t path_count,
                                             limitree_decision *decision,
                                             limitree_error **error);

/* Lets a hold end `hold_ns` from now.  decision->held is 0 if there is nothing
 * to extend.  LIMITREE_INVALID_ARGUMENT if `hold_ns` is not from 1 to
 * LIMITREE_MAX_HOLD_NS.  Since 0.1. */
LIMITREE_API limitree_status limitree_extend(limitree_limiter *limiter,
                                             const limitree_hold *hold,
                                             const limitree_path *paths,
                                             size_t path_count, int64_t hold_ns,
                                             limitree_decision *decision,
                                             limitree_error **error);

/*
 * A reservation as text, for a queue or another process: it is good wherever
 * the limits and the store are the same, in every language.  *text is to be
 * freed.  LIMITREE_INVALID_ARGUMENT if it would take more than 64 KiB, as with
 * paths of 48 KiB.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_receipt_text(const limitree_hold *hold,
                                                   const limitree_path *paths,
                                                   size_t path_count,
                                                   limitree_text **text,
                                                   limitree_error **error);

typedef struct limitree_receipt limitree_receipt;

/* Reads such a text.  LIMITREE_INVALID_ARGUMENT if it is something else, or was
 * changed.  Since 0.1. */
LIMITREE_API limitree_status limitree_receipt_new(limitree_str text,
                                                  limitree_receipt **receipt,
                                                  limitree_error **error);
LIMITREE_API void limitree_receipt_free(limitree_receipt *receipt);

/* What limitree_settle, _cancel and _extend take.  The costs of the paths are
 * LIMITREE_AS_HELD.  They live as long as the receipt.  Since 0.1. */
LIMITREE_API const limitree_hold *limitree_receipt_hold(
    const limitree_receipt *receipt);
LIMITREE_API const limitree_path *limitree_receipt_paths(
    const limitree_receipt *receipt, size_t *path_count);

/* ---- Without blocking ---------------------------------------------------- */

/*
 * As limitree_authorize, but never blocks.  LIMITREE_OK: *decision is filled,
 * and no completion follows (always so with the memory store).
 * LIMITREE_PENDING: *decision is untouched, and exactly one completion with
 * `request` follows, from limitree_loop_run or limitree_limiter_free, never
 * from this call.  Since 0.1.
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

/* The same for limitree_decide_costs.  Since 0.1. */
LIMITREE_API limitree_status limitree_decide_costs_async(
    limitree_limiter *limiter, int32_t operation, const limitree_path *paths,
    size_t path_count, const limitree_cost *costs, size_t cost_count,
    void *request, limitree_level *levels, size_t level_capacity,
    limitree_decision *decision, limitree_error **error);

/* The same for limitree_reserve, which sets *hold at once, limitree_settle,
 * limitree_cancel and limitree_extend.  Since 0.1. */
LIMITREE_API limitree_status limitree_reserve_async(
    limitree_limiter *limiter, const limitree_path *paths, size_t path_count,
    const limitree_cost *costs, size_t cost_count, int64_t hold_ns,
    limitree_hold *hold, void *request, limitree_level *levels,
    size_t level_capacity, limitree_decision *decision, limitree_error **error);
LIMITREE_API limitree_status limitree_settle_async(
    limitree_limiter *limiter, const limitree_hold *hold,
    const limitree_path *paths, size_t path_count, const limitree_cost *costs,
    size_t cost_count, void *request, limitree_decision *decision,
    limitree_error **error);
LIMITREE_API limitree_status limitree_cancel_async(
    limitree_limiter *limiter, const limitree_hold *hold,
    const limitree_path *paths, size_t path_count, void *request,
    limitree_decision *decision, limitree_error **error);
LIMITREE_API limitree_status limitree_extend_async(
    limitree_limiter *limiter, const limitree_hold *hold,
    const limitree_path *paths, size_t path_count, int64_t hold_ns,
    void *request, limitree_decision *decision, limitree_error **error);

/* limitree_reset without blocking: LIMITREE_OK, or LIMITREE_PENDING and exactly
 * one completion, whose decision means nothing.  Since 0.1. */
LIMITREE_API limitree_status limitree_reset_async(
    limitree_limiter *limiter, const limitree_str *path, size_t path_size,
    int32_t leaf_only, void *request, limitree_error **error);

/* limitree_block and limitree_unblock likewise.  Since 0.1. */
LIMITREE_API limitree_status limitree_block_async(
    limitree_limiter *limiter, const limitree_str *path, size_t path_size,
    int64_t duration_ns, void *request, limitree_error **error);
LIMITREE_API limitree_status limitree_unblock_async(limitree_limiter *limiter,
                                                    const limitree_str *path,
                                                    size_t path_size,
                                                    void *request,
                                                    limitree_error **error);

/*
 * The library starts no threads: blocking calls do their own I/O, and the
 * caller's event loop drives asynchronous calls.  Watch the descriptor for
 * reading (it covers connections, deadlines and reconnects; epoll, kqueue,
 * libuv and asyncio can watch it), and call limitree_loop_run when it is
 * readable, on one thread at a time.  With shm:// it is a timer: when it fires,
 * requests that wait for another process's lock are tried again.  -1: with this
 * store nothing is ever pending, so there is nothing to watch.
 *
 * Each handle has a loop; limitree_limiter_new_loop makes more.  Since 0.1.
 */
LIMITREE_API int limitree_loop_fd(limitree_limiter *limiter);
LIMITREE_API void limitree_loop_run(limitree_limiter *limiter);

/*
 * Sets whether starting a call makes the descriptor readable, so that the loop
 * runs and sends it; the initial value is 1.  With 0, code that starts calls
 * has to call limitree_loop_run itself, at the end of the same turn of the
 * loop: the calls are sent one turn earlier, without waking the loop.
 * Since 0.1.
 */
LIMITREE_API void limitree_loop_set_wakeups(limitree_limiter *limiter, int on);

/*
 * Sets how long a call that this handle starts from now on may take:
 * `timeout_ns`, or the option `timeout` if that is shorter.  0 restores the
 * initial value, the option `timeout`.  For code whose callers have deadlines
 * of their own.  Since 0.1.
 */
LIMITREE_API void limitree_loop_set_timeout(limitree_limiter *limiter,
                                            int64_t timeout_ns);

/*
 * How long, in nanoseconds, until limitree_loop_run must be called even if
 * nothing is started or answered before; -1: no time is set.  For programs with
 * a client of their own (limitree_config_set_client) that do not watch
 * limitree_loop_fd: they call limitree_loop_run after they have started calls,
 * after limitree_client_reply, and when this time has passed.  Since 0.1.
 */
LIMITREE_API int64_t limitree_loop_until_run(limitree_limiter *limiter);

/* What became of a command. */
enum {
  LIMITREE_REPLY_TEXT = 0,  /* a string, with its bytes */
  LIMITREE_REPLY_OTHER = 1, /* a number, a list or nothing; without a text */
  LIMITREE_REPLY_ERROR = 2, /* an error of the server, which begins with its
                               code: "NOSCRIPT No matching script" */
  LIMITREE_REPLY_LOST = 3,  /* the client has failed, and the server may have
                               seen the command; the text is for people */
  LIMITREE_REPLY_UNSENT = 4 /* the same, and the server has not seen it */
};

/*
 * Gives the answer to a command of limitree_config_set_client, from any thread.
 * Returns 1 if it is taken, 0 if nothing waits for it any more.  A blocking
 * function then returns; other calls complete in limitree_loop_run of the
 * handle that started them, whose descriptor becomes readable.  Since 0.1.
 */
LIMITREE_API int32_t limitree_client_reply(limitree_limiter *limiter,
                                           uint64_t token, int32_t reply,
                                           limitree_str text);

/* ---- Rate limits of Envoy ------------------------------------------------ */

/* One entry of a descriptor that Envoy asks about. */
typedef struct limitree_entry {
  limitree_str key;
  limitree_str value;
} limitree_entry;

/* Units of limits, numbered as in Envoy's messages. */
enum {
  LIMITREE_UNIT_UNKNOWN = 0, /* the rule has a period of its own */
  LIMITREE_UNIT_SECOND = 1,
  LIMITREE_UNIT_MINUTE = 2,
  LIMITREE_UNIT_HOUR = 3,
  LIMITREE_UNIT_DAY = 4,
  LIMITREE_UNIT_MONTH = 5, /* 30 days */
  LIMITREE_UNIT_YEAR = 6,  /* 365 days */
  LIMITREE_UNIT_WEEK = 7
};

/* Bits of limitree_descriptor.flags. */
enum {
  LIMITREE_HAS_HITS_ADDEND = 1u << 0, /* its own, in place of the request's */
  LIMITREE_HAS_LIMIT = 1u << 1,       /* its own, in place of every rule's */
  /* Gives hits back or, where a rule holds, settles what is held; always OK. */
  LIMITREE_NEGATIVE_HITS = 1u << 2
};

/*
 * One descriptor of a request.  Filled by the caller, who should set all of it
 * to zero first, because new fields are taken from `reserved`.  Always 64 bytes
 * if pointers take 8.
 */
typedef struct limitree_descriptor {
  const limitree_entry *entries;
  size_t entry_count;
  uint32_t flags;             /* LIMITREE_HAS_HITS_ADDEND | ... */
  uint32_t requests_per_unit; /* with LIMITREE_HAS_LIMIT */
  int32_t unit;               /* the same: LIMITREE_UNIT_SECOND ... */
  uint32_t unit_multiplier;   /* the same: units in a window; 0 means 1 */
  uint64_t hits_addend;       /* with LIMITREE_HAS_HITS_ADDEND; 0 only looks */
  int64_t reserved[3];
} limitree_descriptor;

/* Bits of limitree_envoy_request.flags. */
enum {
  LIMITREE_WANTS_METADATA = 1u << 0, /* limitree_envoy_response.metadata */
  /* Answers what the same request would get now: nothing is charged, held or
   * given back, and statistics do not count it. */
  LIMITREE_ONLY_PEEKS = 1u << 1,
  LIMITREE_ONLY_LOOKS = 1u << 2 /* the same, as LIMITREE_LOOK */
};

/* A request of Envoy.  Always 64 bytes if pointers take 8, as above. */
typedef struct limitree_envoy_request {
  limitree_str domain;
  const limitree_descriptor *descriptors;
  size_t descriptor_count;
  uint32_t hits_addend; /* of each descriptor without its own; 0 means 1 */
  uint32_t flags;       /* LIMITREE_WANTS_METADATA | ... */
  int64_t reserved[3];
} limitree_envoy_request;

/* Answers, numbered as in Envoy's messages. */
enum { LIMITREE_CODE_OK = 1, LIMITREE_CODE_OVER_LIMIT = 2 };

/* What a descriptor has met: limitree_descriptor_status.match. */
enum {
  LIMITREE_MATCH_NONE = 0,      /* no rule, or the domain is not known: OK */
  LIMITREE_MATCH_UNLIMITED = 1, /* a rule says `unlimited`: OK */
  LIMITREE_MATCH_REPLACED = 2,  /* another rule replaces this one: OK */
  LIMITREE_MATCH_LIMIT = 3      /* a limit, which the fields below describe */
};

/*
 * The answer for one descriptor.  Filled by the library; plain data, nothing to
 * free.  Always 128 bytes if pointers take 8, as above.  Fields from `name` on
 * are zero unless `match` is LIMITREE_MATCH_LIMIT, except for limit_remaining.
 */
typedef struct limitree_descriptor_status {
  int32_t code;  /* LIMITREE_CODE_OK or LIMITREE_CODE_OVER_LIMIT */
  int32_t match; /* LIMITREE_MATCH_NONE ... */
  limitree_str
      name; /* of the rule, often empty; lives as long as the limiter */
  uint32_t requests_per_unit;
  int32_t unit;            /* LIMITREE_UNIT_UNKNOWN ... */
  int64_t period_ns;       /* the length of its units, or the rule's period; 0
                              if that many may be held at once */
  int64_t limit_remaining; /* hits left; 4294967295 if unlimited */
  /* The wait if over the limit, else the time until all hits are back; whole
   * seconds, rounded up, as Envoy's message and headers have them. */
  int64_t duration_until_reset_ns;
  int64_t retry_after_ns; /* the same, exactly: -1 if these hits fit, else the
                             wait or LIMITREE_NEVER */
  int64_t reset_after_ns; /* exactly until all hits are back, >= 0 */
  uint32_t flags;         /* LIMITREE_SHADOWED: over the limit, in shadow_mode.
                             LIMITREE_CACHED: from the option over_cache_size.
                             LIMITREE_SOFT: fits thanks to an overrun */
  int32_t quota;          /* 1 if it counts as quota_mode says */
  uint32_t unit_multiplier; /* units in a window; 1 if the unit is unknown */
  int32_t reserved_32;
  int64_t reserved[5];
} limitree_descriptor_status;

/* The answer to a request.  Always 64 bytes if pointers take 8, as above. */
typedef struct limitree_envoy_response {
  int32_t overall_code;    /* LIMITREE_CODE_OK or LIMITREE_CODE_OVER_LIMIT */
  int32_t header_status;   /* index of the status that RateLimit-* headers show;
                              -1: no status has a limit */
  size_t status_count;     /* as many as descriptors */
  int32_t source;          /* LIMITREE_SOURCE_STORE ... */
  uint32_t flags;          /* LIMITREE_DEGRADED: the store failed.
                              LIMITREE_CACHED: by the deny cache.
                              LIMITREE_SHADOWED: OK thanks to the option
                              shadow_mode.  LIMITREE_UNLIMITED: no limit met.
                              LIMITREE_HOLDS: something is held until a request
                              with LIMITREE_NEGATIVE_HITS settles it */
  limitree_text *metadata; /* NULL without LIMITREE_WANTS_METADATA.  Else the
                              dynamic metadata, as one line of JSON; the caller
                              frees it */
  int64_t reserved[4];
} limitree_envoy_response;

/*
 * Answers a request of Envoy by the descriptors of the config, as
 * docs/descriptors.md says: each descriptor is charged by itself, and the store
 * is asked once for all of them (once more if some give hits back).  Blocks
 * while the store answers.  Returns LIMITREE_OK whether the answer is OK or
 * OVER_LIMIT.  LIMITREE_INVALID_ARGUMENT if the domain or the list of
 * descriptors is empty, if a limit in the request has an unknown unit or a
 * window of more than 100 years, if what it would hold has no name, or two, or
 * if it gives hits back with LIMITREE_ONLY_PEEKS or LIMITREE_ONLY_LOOKS.
 *
 * `statuses` takes those of the first `status_capacity` descriptors; it may be
 * NULL if that is 0.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_should_rate_limit(
    limitree_limiter *limiter, const limitree_envoy_request *request,
    limitree_descriptor_status *statuses, size_t status_capacity,
    limitree_envoy_response *response, limitree_error **error);

/* The same without blocking, as limitree_decide_async: `user_request` is
 * limitree_completion.request, and the decision of that completion is zero.
 * `statuses` and `response` must live until the completion, and are filled
 * before it; `request` need not outlive the call.  Since 0.1. */
LIMITREE_API limitree_status limitree_should_rate_limit_async(
    limitree_limiter *limiter, const limitree_envoy_request *request,
    void *user_request, limitree_descriptor_status *statuses,
    size_t status_capacity, limitree_envoy_response *response,
    limitree_error **error);

/* Forgets the buckets that limitree_should_rate_limit would reach with the same
 * request, and what is held there.  Hits and flags of the request do not
 * matter, except that no descriptor may give hits back.  Since 0.1. */
LIMITREE_API limitree_status limitree_reset_descriptors(
    limitree_limiter *limiter, const limitree_envoy_request *request,
    limitree_error **error);

/* The same without blocking, as limitree_reset_async.  Since 0.1. */
LIMITREE_API limitree_status limitree_reset_descriptors_async(
    limitree_limiter *limiter, const limitree_envoy_request *request,
    void *user_request, limitree_error **error);

/* Replaces only the descriptors, with those of `config`; its limits and options
 * have no effect.  Otherwise as limitree_limiter_reload_config.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_reload_descriptors(
    limitree_limiter *limiter, const limitree_config *config,
    limitree_error **error);

/* The name of a unit as Envoy writes it, "MINUTE"; "UNKNOWN" for all other
 * numbers.  Static storage.  Since 0.1. */
LIMITREE_API const char *limitree_unit_name(int32_t unit);

/* ---- Looking inside ------------------------------------------------------ */

/* What counters are about: bits, for limitree_limiter_each_counter.  In some
 * scopes a counter has a value for each label. */
enum {
  LIMITREE_SCOPE_SOURCES = 1u << 0,     /* requests; limitree_source_name */
  LIMITREE_SCOPE_REQUESTS = 1u << 1,    /* requests and the tree; a request of
                                           Envoy counts as one that authorize
                                           allowed or denied */
  LIMITREE_SCOPE_LIMITS = 1u << 2,      /* each limit; limitree_level.policy */
  LIMITREE_SCOPE_REASONS = 1u << 3,     /* failures of the store;
                                           limitree_error_reason */
  LIMITREE_SCOPE_ROUND_TRIPS = 1u << 4, /* answers of servers, by the seconds
                                           that they took at most: "0.000016",
                                           ... "+Inf" */
  LIMITREE_SCOPE_STORE = 1u << 5,       /* buckets and connections */
  LIMITREE_SCOPE_ENVOY = 1u << 6,       /* requests of Envoy */
  LIMITREE_SCOPE_RULES = 1u << 7        /* hits, by the names that rules have in
                                           metrics: "domain.key_value.key" */
};

/* A counter.  Static storage; always 64 bytes if pointers take 8, as above. */
typedef struct limitree_counter {
  const char *name;  /* "shadow_limited": unique in its scope */
  const char *help;  /* a sentence for people */
  const char *label; /* what its labels are: "policy"; empty if it has none */
  uint32_t scope;    /* LIMITREE_SCOPE_SOURCES ... */
  int32_t is_gauge;  /* 1 if it can fall, 0 if it only grows */
  int64_t reserved[4];
} limitree_counter;

/* All counters, from index 0 on, scope after scope.  NULL if `index` is too
 * large.  Since 0.1. */
LIMITREE_API const limitree_counter *limitree_counter_at(size_t index);

/* Takes one value of a counter.  `label` lives as long as the limiter.  It must
 * not throw. */
typedef void (*limitree_counter_fn)(const limitree_counter *counter,
                                    limitree_str label, int64_t value,
                                    void *user_data);

/*
 * Calls `fn` with the values of all counters whose scopes are in `scopes`,
 * scope after scope: all counters of one label, then all of the next.  Limits
 * come in the order in which they were first loaded, rules in the order in
 * which they were first met; there are at most as many names of rules as the
 * option max_metric_keys says, and "other" counts the rest.
 *
 * Counters begin with 0 when the limiter is made, and survive a reload: those
 * of a limit belong to its place in the tree, those of a rule to its name.
 * Buckets, bytes and evictions of a shm:// store are those of its file;
 * everything else belongs to this limiter.  Scopes before LIMITREE_SCOPE_ENVOY,
 * except for limits, take time in proportion to the store's size in memory:
 * about a millisecond per million buckets.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_limiter_each_counter(
    limitree_limiter *limiter, uint32_t scopes, limitree_counter_fn fn,
    void *user_data, limitree_error **error);

/* All statistics in the text format that Prometheus reads, version 0.0.4.  One
 * series for each limit, none for callers.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_prometheus(
    limitree_limiter *limiter, limitree_text **text, limitree_error **error);

/* Checks that the store answers, and blocks until it does.  Writes the time
 * that this took to *round_trip_ns, which may be NULL.  The memory store
 * answers at once.  Since 0.1. */
LIMITREE_API limitree_status limitree_ping(limitree_limiter *limiter,
                                           int64_t *round_trip_ns,
                                           limitree_error **error);

/* The file of a shm:// store.  Always 128 bytes if pointers take 8, as above.
 */
typedef struct limitree_store_file {
  limitree_str path; /* lives as long as the limiter */
  int64_t version;   /* of its format */
  int64_t bytes;     /* its size; the counter store_bytes says what it
                        takes */
  int64_t processes; /* that have it open, this one included */
  int64_t reserved[11];
} limitree_store_file;

/* LIMITREE_INVALID_ARGUMENT if the store is not a file.  Since 0.1. */
LIMITREE_API limitree_status
limitree_limiter_store_file(limitree_limiter *limiter,
                            limitree_store_file *file, limitree_error **error);

/* The tree as the library understands it, for people: one line for each node
 * and limit.  The wording may change.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_describe(
    limitree_limiter *limiter, limitree_text **text, limitree_error **error);

/* The walk of `path` down the tree, for people: the child taken for each
 * segment and why, the levels met, their bucket names and parameters; with
 * memory:// and shm://, what is held there, as limitree_limiter_list_holds
 * says. The wording may change.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_explain(limitree_limiter *limiter,
                                                      const limitree_str *path,
                                                      size_t path_size,
                                                      limitree_text **text,
                                                      limitree_error **error);

/* What is held on the levels of `path`, and until when, for people: for each
 * limit the units, and its reservations in the order of their ends, of which
 * the first 20 are listed.  Empty if nothing is held.  Blocks while the store
 * answers.  The wording may change.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_list_holds(
    limitree_limiter *limiter, const limitree_str *path, size_t path_size,
    limitree_text **text, limitree_error **error);

/* All descriptors as the library understands them, for people: one line for
 * each.  The wording may change.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_describe_descriptors(
    limitree_limiter *limiter, limitree_text **text, limitree_error **error);

/* What a descriptor of a request meets, for people: where each of its entries
 * leads and why, and the rules and buckets that decide about it.  A domain that
 * is not known, and a descriptor without a rule, are not errors: they are
 * allowed.  The wording may change.  Since 0.1. */
LIMITREE_API limitree_status limitree_limiter_explain_descriptor(
    limitree_limiter *limiter, limitree_str domain,
    const limitree_entry *entries, size_t entry_count, limitree_text **text,
    limitree_error **error);

/* ---- Texts that mean numbers --------------------------------------------- */

/* Reads a duration in the form that options and limits.yaml have: "500ms",
 * "1m30s", "5 minutes", "1.5" (seconds).  LIMITREE_INVALID_CONFIG for anything
 * else and for durations below 0.  The message is worded to follow the name of
 * the duration: "must be a duration such as ...".  Since 0.1. */
LIMITREE_API limitree_status limitree_parse_duration(limitree_str text,
                                                     int64_t *duration_ns,
                                                     limitree_error **error);

/* The same for durations as Go writes them, which other programs take: "24h",
 * "1h30m", "1.5s", "0".  Since 0.1. */
LIMITREE_API limitree_status limitree_parse_go_duration(limitree_str text,
                                                        int64_t *duration_ns,
                                                        limitree_error **error);

/* A limit that was read from a text.  Filled by the library; plain data, always
 * 128 bytes, as above. */
typedef struct limitree_rate {
  int64_t count;     /* tokens that a bucket gains ... */
  int64_t period_ns; /* ... in this time */
  int64_t burst;     /* tokens in a full bucket */
  int32_t size;      /* bytes of `name` without its terminator */
  int32_t algorithm; /* 0: the text names none, so it is the default; else one
                        more than its index in limitree_algorithm_at */
  char name[72]; /* "30/1m", "30/1m-burst5", "5/1h-fixed_window-first": equal
                    for equal rates, so that it can name the limit in a tree */
  int64_t reserved[3];
} limitree_rate;

/*
 * Reads limits in words: "30/minute", "30 per 60s burst 16", "5/hour
 * fixed_window", or several with ';', ',' or '|' between them.  `limits:` in a
 * limits.yaml takes the same texts; docs/limits-yaml.md has the grammar.  Every
 * rate that can be read is valid in a tree.  LIMITREE_INVALID_CONFIG with a
 * message for each mistake.
 *
 * Writes the first `capacity` rates, and sets *count to the number of all.
 * `rates` may be NULL if `capacity` is 0.  Since 0.1.
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

/* 1 if the fields of that style name every limit, so that limitree_http_headers
 * needs the levels; else 0.  Since 0.1. */
LIMITREE_API int32_t limitree_http_style_needs_levels(size_t index);

/*
 * Writes the header fields of a response: the fields of `style`, and
 * Retry-After if the request was denied and a wait helps.  Writes nothing for
 * the style "none", or if there is no limit on the path.  The text is that of
 * HTTP/1.1, "Name: value" and CR LF for each field, without a terminator.
 *
 * `levels` are those that limitree_decide wrote with this decision, or NULL if
 * the caller has none; LIMITREE_INVALID_ARGUMENT if the style needs them.  The
 * resets of the style "legacy" are seconds from now if `now_ns` is 0, else
 * seconds since 1970; `now_ns` is then the current time.
 *
 * *size is set to the size of the text.  If it is larger than `capacity`, the
 * text is cut off there: call again with a buffer of that size.  `text` may be
 * NULL if `capacity` is 0.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_http_headers(
    limitree_str style, const limitree_decision *decision,
    const limitree_level *levels, size_t level_count, int64_t now_ns,
    char *text, size_t capacity, size_t *size, limitree_error **error);

/*
 * Writes the body of a denial, application/problem+json, as one line of JSON in
 * UTF-8.  `levels`, `text` and *size are as above.  `status` is the status of
 * the response, 400 to 599, usually 429.  LIMITREE_INVALID_ARGUMENT if the
 * request was allowed.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_http_problem(
    int32_t status, const limitree_decision *decision,
    const limitree_level *levels, size_t level_count, char *text,
    size_t capacity, size_t *size, limitree_error **error);

/* ---- Addresses of clients ------------------------------------------------ */

/* An IP address in its canonical form.  Plain data, always 64 bytes. */
typedef struct limitree_ip {
  char text[48];    /* RFC 5952, and a terminator: "2001:db8::1" */
  int32_t size;     /* bytes of `text` without its terminator */
  int32_t version;  /* 4 or 6 */
  int32_t believed; /* trusted entries of the header */
  int32_t reserved;
} limitree_ip;

/* Reads an IP address as servers and proxies write it: with a port, in
 * brackets, with a zone, IPv4 inside IPv6 (the result is IPv4).  Keeps the
 * first `ipv6_prefix` (1 to 128) bits of an IPv6 address, and sets the others
 * to zero.  Since 0.1. */
LIMITREE_API limitree_status limitree_canonical_ip(limitree_str address,
                                                   int32_t ipv6_prefix,
                                                   limitree_ip *ip,
                                                   limitree_error **error);

/* The header in which proxies name their clients. */
enum {
  LIMITREE_X_FORWARDED_FOR = 0, /* addresses, with commas between them */
  LIMITREE_FORWARDED = 1        /* RFC 7239: for=192.0.2.1;proto=https */
};

/* Which proxies are trusted.  May be used from any thread. */
typedef struct limitree_proxies limitree_proxies;

/*
 * Trusts the nearest `trusted_hops` proxies (0 to 100), or the proxies in
 * `trusted`: networks such as "10.0.0.0/8", single addresses, and "unix" for a
 * peer without an address.  Not both; with neither, no proxy is trusted.
 * `ipv6_prefix` as for limitree_canonical_ip.  LIMITREE_INVALID_CONFIG if a
 * value is not valid.  Since 0.1.
 */
LIMITREE_API limitree_status limitree_proxies_new(
    int32_t header, int32_t trusted_hops, const limitree_str *trusted,
    size_t trusted_count, int32_t ipv6_prefix, limitree_proxies **proxies,
    limitree_error **error);
LIMITREE_API void limitree_proxies_free(limitree_proxies *proxies);

/*
 * The address of the client that sent a request.  `peer` is the other end of
 * the connection, empty if it has no address; `lines` are the values of the
 * header in the order of the request, none if it is absent.
 *
 * The walk starts at the peer and goes through the header from its last entry
 * to the first, as long as the address it has reached is trusted.  The address
 * at which it ends is the client.  An entry that is not an address ends the
 * walk at the proxy that wrote it.  So entries that the client wrote itself are
 * never used.  LIMITREE_INVALID_ARGUMENT if the walk ends at a peer without an
 * address.  Since 0.1.
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
