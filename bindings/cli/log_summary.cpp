// What people see of the logs that were read.

#include "log_reader.hpp"

namespace limitree::cli {

std::string summary_text(const LogSummary& summary) {
  std::string text = count_text(summary.lines) + " lines";
  if (summary.lines == summary.bad) return text;
  const std::int64_t span_s = summary.last.unix_s - summary.first.unix_s;
  return text + ", " + date_time_text(summary.first) + " to " +
         date_time_text(summary.last) + " (" +
         duration_text(span_s * kSecondNs) + ")";
}

std::string notes_text(std::string_view title, std::int64_t count,
                       const std::vector<LineNote>& notes,
                       const Terminal& terminal) {
  if (notes.empty()) return {};
  std::string text = '\n' + terminal.paint(Colour::kBold, title) + '\n';
  for (const LineNote& note : notes) {
    const std::string file = note.file == "-" ? "standard input" : note.file;
    text += "  " + printable(file, terminal.utf8) + ':' +
            std::to_string(note.line) + ": " +
            printable(note.reason, terminal.utf8) + '\n';
  }
  const auto more = count - static_cast<std::int64_t>(notes.size());
  if (more > 0) text += "  and " + count_text(more) + " more\n";
  return text;
}

}  // namespace limitree::cli
