/* limitree.h by itself: compiled as C99, C11 and C++20 by each compiler. */
#include <limitree.h>
