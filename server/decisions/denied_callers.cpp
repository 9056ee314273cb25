#include "decisions/denied_callers.hpp"

#include <new>
#include <utility>

namespace limitree::server {

namespace {

// A caller's names can be long: the sketch keeps no more than this anyway.
constexpr std::size_t kMostText = 4 * HeavyHitters::kMaxText;

void append_name(limitree_str name, std::string* text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kUnclear = "%:= ";
  for (const char one : std::string_view(name.data, name.size)) {
    if (text->size() > kMostText) return;
    if (one > ' ' && one < 0x7f && kUnclear.find(one) == kUnclear.npos) {
      *text += one;
      continue;
    }
    const auto byte = static_cast<unsigned char>(one);
    *text += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

}  // namespace

std::string caller_text(std::span<const limitree_path> paths) {
  std::string text;
  for (const limitree_path& path : paths) {
    if (!text.empty()) text += ' ';
    for (std::size_t i = 0; i < path.size; ++i) {
      if (text.size() > kMostText) return text;
      if (i > 0) text += ':';
      append_name(path.segments[i], &text);
    }
  }
  return text;
}

std::string caller_text(const limitree_envoy_request& request) {
  std::string text;
  for (std::size_t i = 0; i < request.descriptor_count; ++i) {
    const limitree_descriptor& descriptor = request.descriptors[i];
    if (!text.empty()) text += ' ';
    append_name(request.domain, &text);
    for (std::size_t k = 0; k < descriptor.entry_count; ++k) {
      if (text.size() > kMostText) return text;
      text += ':';
      append_name(descriptor.entries[k].key, &text);
      text += '=';
      append_name(descriptor.entries[k].value, &text);
    }
  }
  return text;
}

DeniedCallers::Sketches DeniedCallers::make() {
  return {HeavyHitters(kCallers), HeavyHitters(kCallers)};
}

void DeniedCallers::add(std::string_view caller, bool shadowed,
                        Monotonic now) noexcept try {
  const std::lock_guard lock(mutex_);
  if (now - begun_ >= kSpan) {
    before_ = now - begun_ >= 2 * kSpan ? make() : std::move(now_);
    now_ = make();
    begun_ = now;
  }
  now_[shadowed ? 1 : 0].add(caller);
} catch (const std::bad_alloc&) {
}

void DeniedCallers::add_to(Callers* all, Monotonic now) const {
  const std::lock_guard lock(mutex_);
  const auto add = [all](const Sketches& sketches) {
    for (const auto& one : sketches[0].top(kCallers)) {
      (*all)[one.text].denied += one.count;
    }
    for (const auto& one : sketches[1].top(kCallers)) {
      (*all)[one.text].shadowed += one.count;
    }
  };
  if (now - begun_ < 2 * kSpan) add(now_);
  if (now - begun_ < kSpan) add(before_);
}

}  // namespace limitree::server
