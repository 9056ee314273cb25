#include "web/live_pages.hpp"

#include <string_view>
#include <utility>

#include "pages/pages.hpp"

namespace limitree::server {

namespace {

constexpr unsigned char kPage[] = {
#include "live_page.inc"
};
constexpr unsigned char kScript[] = {
#include "live_script.inc"
};

template <std::size_t size>
std::string_view text_of(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char*>(bytes), size};
}

constexpr std::string_view kGuards =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; "
    "style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

void answer_file(std::string_view type, std::string_view text,
                 Exchange* exchange) {
  HttpAnswer* const answer = exchange->answer();
  answer->content_type = type;
  answer->fields = kGuards;
  answer->body = text;
  exchange->finish();
}

}  // namespace

void add_live_pages(std::function<const std::string&()> data,
                    HandlerTable* handlers) {
  const auto add = [handlers](const char* path, std::string_view type,
                              std::string_view text) {
    handlers->add(path, HttpMethods::kGet, [type, text](Exchange* exchange) {
      answer_file(type, text, exchange);
    });
  };
  add("/ui", "text/html; charset=utf-8", text_of(kPage));
  add("/ui/style.css", "text/css; charset=utf-8", page_style());
  add("/ui/pages.js", "text/javascript; charset=utf-8", page_script());
  add("/ui/live.js", "text/javascript; charset=utf-8", text_of(kScript));
  handlers->add("/ui/data.json", HttpMethods::kGet,
                [data = std::move(data)](Exchange* exchange) {
                  answer_file("application/json", data(), exchange);
                });
}

}  // namespace limitree::server
