#include "web/limit_pages.hpp"

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace

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
