#include "tree/host_name.hpp"

#include <algorithm>

#include "text/number.hpp"

#ifdef LIMITREE_HAS_PSL
#include <libpsl.h>
#endif

namespace limitree {

namespace {

constexpr std::size_t kMaxLabel = 63;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

// Whether `label`, in lower case, is valid between two dots.
bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabel && label.front() != '-' &&
         label.back() != '-' &&
         std::all_of(label.begin(), label.end(), is_allowed);
}

}  // namespace

std::size_t lower_host_name(std::string_view name, char* out) {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || name.size() > kMaxHostName) return 0;
  std::transform(name.begin(), name.end(), out, lower);
  out[name.size()] = '\0';

  std::string_view rest(out, name.size());
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (!is_label(label)) return 0;
    if (dot == rest.npos) {
      const bool number = std::all_of(label.begin(), label.end(), is_digit);
      return number ? 0 : name.size();
    }
    rest.remove_prefix(dot + 1);
  }
}

#ifdef LIMITREE_HAS_PSL

namespace {

// The newer of the list in libpsl and the list of the system.  Read once and
// never freed, because limiters may outlive static objects.
const psl_ctx_t* public_suffixes() {
  static const psl_ctx_t* const list = [] {
    const psl_ctx_t* const newest = psl_latest(nullptr);
    return newest == nullptr ? psl_builtin() : newest;
  }();
  return list;
}

}  // namespace

bool knows_public_suffixes() { return public_suffixes() != nullptr; }

std::string_view registrable_domain(const char* name) {
  const char* const domain = psl_registrable_domain(public_suffixes(), name);
  return domain == nullptr ? name : domain;
}

#else

bool knows_public_suffixes() { return false; }

std::string_view registrable_domain(const char* name) { return name; }

#endif

}  // namespace limitree
