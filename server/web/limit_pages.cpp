#include "web/limit_pages.hpp"

#include "limitree.hpp"
#include "net/text.hpp"
#include "web/answers.hpp"
#include "web/api.hpp"

namespace limitree::server {

namespace {

constexpr std::string_view kPrefix = "/v1/limits/";

// The name at the end of a path; nothing if a %XX in it is wrong.
std::optional<std::string> name_in(std::string_view path) {
  path.remove_prefix(kPrefix.size());
  std::string name;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      name += path[i];
      continue;
    }
    const int high = i + 2 < path.size() ? hex_digit(path[i + 1]) : -1;
    const int low = i + 2 < path.size() ? hex_digit(path[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    name += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return name;
}

// JSON is YAML, too.
bool is_yaml(std::string_view type) {
  type = trimmed(type.substr(0, type.find(';')));
  return is_word(type, "application/yaml") || is_word(type, "application/json");
}

// All mistakes, one in each line.
std::string messages_of(const limitree_error* error) {
  std::string all;
  for (std::size_t i = 0; i < limitree_error_count(error); ++i) {
    if (i > 0) all += '\n';
    all += limitree_error_message_at(error, i);
  }
  return all;
}

int put_status_of(limitree_status status) {
  if (status == LIMITREE_INVALID_CONFIG) return 400;
  return status == LIMITREE_OUT_OF_MEMORY ? 507 : http_status_of(status);
}

PutLimits::Outcome outcome_of(limitree_status status, limitree_error* error,
                              int if_good) {
  const ErrorHandle owner(error);
  if (status >= 0) return {if_good};
  return {put_status_of(status), messages_of(error)};
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

// ---- The pages --------------------------------------------------------------

void LimitPages::add_to(HandlerTable* handlers) {
  handlers->add_below(std::string(kPrefix), HttpMethods::kResource,
                      [this](Exchange* exchange) { serve(exchange); });
}

void LimitPages::serve(Exchange* exchange) const {
  if (!has_token(*token_, "limits can be put", exchange)) return;
  const HttpRequest& request = exchange->request();
  const std::optional<std::string> name = name_in(request.path());
  if (!name) return answer_problem(exchange, 400, "the name has a wrong %XX");
  HttpAnswer* const answer = exchange->answer();
  PutLimits::Outcome outcome{200};
  if (request.method == "PUT") {
    if (!is_yaml(request.field("content-type"))) {
      return answer_problem(exchange, 415,
                            "the content-type must be application/yaml or "
                            "application/json");
    }
    outcome = limits_->put(*name, request.body);
  } else if (request.method == "DELETE") {
    outcome = limits_->remove(*name);
  } else if (std::optional<std::string> text = limits_->get(*name)) {
    answer->content_type = "application/yaml";
    answer->body = *std::move(text);
    return exchange->finish();
  } else {
    outcome = {404, "no limits were put there"};
  }
  if (outcome.status >= 400) {
    return answer_problem(exchange, outcome.status, outcome.detail);
  }
  answer->status = outcome.status;
  answer->content_type = "application/json";
  answer->body = "{}";
  exchange->finish();
}

}  // namespace limitree::server
