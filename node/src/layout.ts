// The array of numbers through which native code and JavaScript exchange data.
// bindings/node/layout.hpp gives the reason; a test compares the two.

/** Written before a call. */
export const OPERATION = 0;
export const COST = 1;
export const FLAGS = 2;
export const SLOT = 3;
export const NOW_SECONDS = 4;
export const NOW_REST = 5;
export const PATHS = 6;
export const ROOT = 7;
export const PENDING = 8;
export const UNITS = 9;
export const HOLD_NS = 10;
export const INPUT_SIZE = 11;

/** Values of PATHS: one path given as a user and an action, or one path.  For
 * several paths it is their number plus one. */
export const USER_AND_ACTION = 0;
export const ONE_PATH = 1;

/** A sum of these is in FLAGS.  With units, their names are the last arguments,
 * as many as UNITS, and their costs are at UNIT_COSTS. */
export const WITH_LEVELS = 1;
export const WITH_UNITS = 2;
export const UNIT_COSTS = 16000;
export const MAX_UNITS = 64;

/** One of several paths, from INPUT_SIZE on: its segments, cost and part. */
export const PATH_SIZE = 3;

/** A decision: where its fields are, from its beginning. */
export const LIMIT = 0;
export const REMAINING = 1;
export const RETRY_AFTER_NS = 2;
export const RESET_AFTER_NS = 3;
export const NEXT_AFTER_NS = 4;
export const BINDING_RESET_AFTER_NS = 5;
export const BITS = 6;
export const LEVEL_COUNT = 7;
export const HELD = 8;
export const DECISION_SIZE = 9;

/** One of the levels that follow a decision. */
export const POLICY = 0;
export const LEVEL_LIMIT = 1;
export const LEVEL_REMAINING = 2;
export const LEVEL_RETRY_AFTER_NS = 3;
export const LEVEL_RESET_AFTER_NS = 4;
export const LEVEL_NEXT_AFTER_NS = 5;
export const GROWS_AFTER_NS = 6;
export const WINDOW_NS = 7;
export const LEVEL_COST = 8;
export const LEVEL_BITS = 9;
export const PATH = 10;
export const LEVEL_SIZE = 11;
/** The most levels of a decision. */
export const MAX_LEVELS = 64;
/** In LEVEL_BITS: limited 1, charged 2, soft 4, and the mode above them. */
export const MODE_SHIFT = 3;

/** The operations of limitree_decide. */
export const AUTHORIZE = 0;
export const PEEK = 1;
export const SPEND = 2;
export const REFUND = 3;

/** Forgets, or blocks: COST says what. */
export const FORGET = 7;

/** Operations about reservations.  From SETTLE on, the only segment is a
 * receipt, and COST may be AS_HELD. */
export const RESERVE = 8;
export const SETTLE = 9;
export const CANCEL = 10;
export const EXTEND = 11;
export const AS_HELD = -1;

/** What FORGET forgets, in COST. */
export const LAST_NODE = 0;
export const WHOLE_PATH = 1;
export const UNBLOCK = 2;
export const BLOCK = 3;

/** The longest time of a hold. */
export const MAX_HOLD_NS = 86400000000000;

/** The parts of limitree_decide, each at its number. */
export const PARTS = ['charge', 'spend_if_fits', 'check'] as const;

/** The most paths of one request. */
export const MAX_PATHS = 4096;
