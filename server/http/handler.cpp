#include "http/handler.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace limitree::server {

namespace {

// The last name of kAny stands for all other methods.
std::span<const std::string_view> names_of(HttpMethods methods) {
  static constexpr std::string_view kGet[] = {"GET", "HEAD"};
  static constexpr std::string_view kPost[] = {"POST"};
  static constexpr std::string_view kResource[] = {"GET", "HEAD", "PUT",
                                                   "DELETE"};
  static constexpr std::string_view kAny[] = {
      "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "_OTHER"};
  switch (methods) {
    case HttpMethods::kGet:
      return kGet;
    case HttpMethods::kPost:
      return kPost;
    case HttpMethods::kResource:
      return kResource;
    case HttpMethods::kAny:
      return kAny;
  }
  return {};
}

// The index of `method` among those names, or their number if it is not one of
// them.
std::size_t place_of(std::string_view method, HttpMethods methods) {
  const std::span<const std::string_view> names = names_of(methods);
  const auto found = std::ranges::find(names, method);
  const bool other = found == names.end() && methods == HttpMethods::kAny;
  return static_cast<std::size_t>(found - names.begin()) - (other ? 1 : 0);
}

// Whether a page of another site makes a browser send this.  GET and HEAD are
// allowed, because that page cannot read their answers.
bool is_cross_site(const HttpRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") return false;
  const std::string_view site = request.field("sec-fetch-site");
  if (!site.empty()) return site != "same-origin" && site != "none";
  // An older browser does not send that field.
  std::string_view origin = request.field("origin");
  if (origin.empty()) return false;
  const std::size_t scheme = origin.find("://");
  if (scheme == origin.npos) return true;
  origin.remove_prefix(scheme + 3);
  return origin != request.field("host");
}

// Why the request is refused, regardless of its path; null if it is not.
const char* refusal_of(const Exchange& exchange) {
  const HostNames* const hosts = exchange.access().hosts;
  const std::string_view host = exchange.request().field("host");
  if (hosts != nullptr && !host.empty() && !hosts->know(host)) {
    return "the host is not a name of this machine; --http-host adds one";
  }
  if (is_cross_site(exchange.request())) {
    return "pages of other sites may not ask";
  }
  return nullptr;
}

}  // namespace

HandlerTable::Entry HandlerTable::entry_of(const std::string& path,
                                           HttpMethods methods,
                                           Handler handler) {
  const std::size_t first = operations_.size();
  for (const std::string_view name : names_of(methods)) {
    operations_.push_back(std::string(name) + ' ' + path);
  }
  return {methods, std::move(handler), first};
}

void HandlerTable::add(std::string path, HttpMethods methods, Handler handler) {
  Entry entry = entry_of(path, methods, std::move(handler));
  entries_.emplace(std::move(path), std::move(entry));
}

void HandlerTable::add_below(std::string prefix, HttpMethods methods,
                             Handler handler) {
  below_ = entry_of(prefix + '*', methods, std::move(handler));
  prefix_ = std::move(prefix);
}

const HandlerTable::Entry* HandlerTable::find(std::string_view path) const {
  const auto found = entries_.find(path);
  if (found != entries_.end()) return &found->second;
  const bool below = !prefix_.empty() && path.size() > prefix_.size() &&
                     path.starts_with(prefix_);
  return below ? &below_ : nullptr;
}

void HandlerTable::serve(Exchange* exchange) const {
  if (const char* const refusal = refusal_of(*exchange)) {
    answer_text(exchange, 403, refusal);
    return;
  }
  const Entry* const found = find(exchange->request().path());
  if (found == nullptr) {
    answer_text(exchange, 404, "there is no such path");
    return;
  }
  const Entry& entry = *found;
  const std::size_t place = place_of(exchange->request().method, entry.methods);
  if (place < names_of(entry.methods).size()) {
    if (observer_ != nullptr) {
      exchange->observe(observer_, entry.first_operation + place);
    }
    entry.handler(exchange);
    return;
  }
  std::string allowed;
  for (const std::string_view name : names_of(entry.methods)) {
    if (!allowed.empty()) allowed += ", ";
    allowed += name;
  }
  exchange->answer()->fields = "Allow: " + allowed + "\r\n";
  answer_text(exchange, 405,
              entry.methods == HttpMethods::kGet
                  ? "this path takes GET"
                  : "this path takes " + allowed);
}

}  // namespace limitree::server
