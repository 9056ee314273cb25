// Log lines and path templates that nobody thought of.
//
// The input's first line is a template, and a log_format of nginx; each further
// one is a line of a log, in any format.  Whatever they are: every field lies
// within its line, unless a format unescapes it, and a path made of them reads
// as a template again that makes the same path.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "log_request.hpp"
#include "path_template.hpp"

namespace {

using limitree::cli::LogFields;
using limitree::cli::LogFormat;
using limitree::cli::LogRequest;
using limitree::cli::PathTemplate;

void require(bool fact) {
  if (!fact) std::abort();
}

std::string_view cut_line(std::string_view* text) {
  const std::size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

std::optional<PathTemplate> template_of(std::string_view text) {
  try {
    return PathTemplate(text);
  } catch (const limitree::cli::UsageError&) {
    return std::nullopt;
  }
}

// A format, or nullptr if `name` is none.
std::unique_ptr<LogFormat> format_of(std::string_view name) {
  try {
    LogFields fields;
    return limitree::cli::make_log_format(std::string(name), {}, &fields);
  } catch (const limitree::cli::UsageError&) {
    return nullptr;
  }
}

// "-" and "/" may be constants of the parser's.
bool within(std::string_view field, std::string_view line) {
  return field.empty() || field == "-" || field == "/" ||
         (field.data() >= line.data() &&
          field.data() + field.size() <= line.data() + line.size());
}

void check_text(const PathTemplate& path_template, const LogRequest& request) {
  std::string text;
  path_template.append_text(&text);
  std::optional<PathTemplate> again = template_of(text);
  if (!again) return;  // empty segments have no template
  again->fill(request);
  std::string text_again;
  again->append_text(&text_again);
  require(text == text_again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view first = cut_line(&rest);
  std::optional<PathTemplate> path_template = template_of(first);
  std::vector<std::unique_ptr<LogFormat>> views;  // formats of plain text
  for (const std::string_view name :
       {std::string_view("combined"), std::string_view("alb"), first}) {
    if (auto format = format_of(name)) views.push_back(std::move(format));
  }
  const std::unique_ptr<LogFormat> json = format_of("json");
  const std::unique_ptr<LogFormat> caddy = format_of("caddy");
  while (!rest.empty()) {
    // A copy of its own, so that AddressSanitizer guards both ends.
    const std::string line(cut_line(&rest));
    LogRequest request;
    json->parse(line, &request);
    caddy->parse(line, &request);
    for (const std::unique_ptr<LogFormat>& format : views) {
      if (const auto mistake = format->parse(line, &request)) {
        require(mistake->column <= line.size() + 1);
        continue;
      }
      for (const std::string_view field : request.fields) {
        require(within(field, line));
      }
      if (!path_template || format != views.front()) continue;
      path_template->fill(request);
      check_text(*path_template, request);
    }
  }
  return 0;
}
