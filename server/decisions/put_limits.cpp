#include "decisions/put_limits.hpp"

#include "limitree.hpp"

namespace limitree::server {

namespace {

// All mistakes, one in each line.
std::string messages_of(const limitree_error* error) {
  std::string all;
  for (std::size_t i = 0; i < limitree_error_count(error); ++i) {
    if (i > 0) all += '\n';
    all += limitree_error_message_at(error, i);
  }
  return all;
}

int http_status(limitree_status status) {
  switch (status) {
    case LIMITREE_INVALID_CONFIG:
    case LIMITREE_INVALID_ARGUMENT:
      return 400;
    case LIMITREE_UNKNOWN_ROOT:
      return 404;
    case LIMITREE_OUT_OF_MEMORY:
      return 507;
    default:
      return 500;
  }
}

PutLimits::Outcome outcome_of(limitree_status status, limitree_error* error,
                              int if_good) {
  const ErrorHandle owner(error);
  if (status >= 0) return {if_good};
  return {http_status(status), messages_of(error)};
}

}  // namespace

// Whether the tree has the name without our having put it there.
// REQUIRES: it was not put.
bool PutLimits::is_of_file(std::string_view name) const {
  const limitree_str path = to_str(name);
  limitree_text* text = nullptr;
  const limitree_status status =
      limitree_limiter_explain(limiter_, &path, 1, &text, nullptr);
  limitree_text_free(text);
  return status != LIMITREE_UNKNOWN_ROOT;
}

PutLimits::Outcome PutLimits::put(std::string_view name,
                                  std::string_view yaml) {
  if (name.size() > kMaxName) {
    return {400, "a name has at most " + std::to_string(kMaxName) + " bytes"};
  }
  if (yaml.size() > kMaxText) {
    return {413, "the limits of a name have at most " +
                     std::to_string(kMaxText) + " bytes"};
  }
  const std::lock_guard lock(mutex_);
  const auto old = texts_.find(name);
  const bool is_new = old == texts_.end();
  if (is_new && is_of_file(name)) {
    return {409, "'" + std::string(name) + "' is a name of the limits file"};
  }
  const std::size_t before = is_new ? 0 : name.size() + old->second.size();
  const std::size_t bytes = bytes_ - before + name.size() + yaml.size();
  if (is_new && texts_.size() >= kMaxNames) {
    return {507, "there are " + std::to_string(kMaxNames) + " names already"};
  }
  if (bytes > kMaxBytes) {
    return {507, "all names have at most " + std::to_string(kMaxBytes) +
                     " bytes together"};
  }
  // Whatever needs memory comes before the limits change.
  std::string kept(yaml);
  const auto place = is_new ? texts_.emplace(name, std::string()).first : old;
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_limiter_put(limiter_, to_str(name), to_str(yaml), to_str(name),
                           LIMITREE_REPLACE_ADDED | LIMITREE_NO_FILES, &error);
  if (status >= 0) {
    place->second = std::move(kept);
    bytes_ = bytes;
  } else if (is_new) {
    texts_.erase(place);
  }
  return outcome_of(status, error, is_new ? 201 : 200);
}

PutLimits::Outcome PutLimits::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_limiter_remove(limiter_, to_str(name), &error);
  if (const auto old = texts_.find(name); status >= 0 && old != texts_.end()) {
    bytes_ -= old->first.size() + old->second.size();
    texts_.erase(old);
  }
  return outcome_of(status, error, 200);
}

std::optional<std::string> PutLimits::get(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = texts_.find(name);
  if (found == texts_.end()) return std::nullopt;
  return found->second;
}

}  // namespace limitree::server
