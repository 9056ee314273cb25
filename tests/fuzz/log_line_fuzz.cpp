// Log lines and path templates that nobody thought of.
//
// The input's first line is a template, each further one a line of a log.
// Whatever they are: every field lies within its line, and a path made of them
// reads as a template again that makes the same path.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "access_log.hpp"
#include "failure.hpp"
#include "path_template.hpp"

namespace {

using limitree::cli::AccessLog;
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

// "-" may be a constant of the parser's.
bool within(std::string_view field, std::string_view line) {
  return field == "-" ||
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
  std::optional<PathTemplate> path_template = template_of(cut_line(&rest));
  AccessLog log;
  while (!rest.empty()) {
    // A copy of its own, so that AddressSanitizer guards both ends.
    const std::string line(cut_line(&rest));
    LogRequest request;
    if (log.parse(line, &request) != nullptr) continue;
    for (const std::string_view field : request.fields) {
      require(within(field, line));
    }
    if (path_template) {
      path_template->fill(request);
      check_text(*path_template, request);
    }
  }
  return 0;
}
