// Whether this is a build with a sanitizer, which makes all slower and forbids
// some.

#pragma once

#if defined(__has_feature)
#define LIMITREE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define LIMITREE_HAS_FEATURE(feature) 0
#endif

namespace limitree {

#if defined(__SANITIZE_ADDRESS__) || LIMITREE_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = false;
#endif

#if defined(__SANITIZE_THREAD__) || LIMITREE_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

inline constexpr bool kSanitized = kAddressSanitized || kThreadSanitized;

}  // namespace limitree

#undef LIMITREE_HAS_FEATURE
