// One tree of limits, and what it decides of the requests of a log.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "findings.hpp"
#include "flips.hpp"
#include "limitree.hpp"
#include "path_template.hpp"

namespace limitree::cli {

// The answer to one request.
struct Verdict {
  Outcome outcome = Outcome::kAllowed;
  std::string_view limit;  // the first one that denied; lives with the tree
  std::size_t path = 0;    // the template of the path that met it, or that
                           // is refused
  std::string refusal;     // why it was refused, for the first few
};

class TreeReplay {
 public:
  // `limits` is a file, or "-".  The templates and *clock_ns must live as long
  // as this.  Throws FileError, or Error if the limits have mistakes.
  TreeReplay(const std::string& limits, const ReplayOptions& options,
             const std::vector<PathTemplate>& templates,
             std::int64_t* clock_ns);

  // The templates that begin with a name that the limits do not have, and the
  // error that each line would get.  decide() leaves them out.
  const std::map<std::size_t, Error>& unknown_roots() const {
    return unknown_roots_;
  }

  // Decides a request at the time of the clock, and counts the answer.  `paths`
  // has that of each template.
  const Verdict& decide(std::span<const limitree_path> paths);

  // Call it before the first request.
  void align(std::int32_t utc_offset_s);

  // Ends the replay.
  void finish();

  const std::string& name() const { return name_; }
  ReplayResult* result() { return &result_; }

 private:
  void find_roots();
  void count(const Decision& decision, std::int64_t unix_s);
  void blame(const Decision& decision);
  void refuse(std::span<const limitree_path> paths, limitree_status status,
              const ErrorHandle& error);
  std::size_t refused_path(std::span<const limitree_path> paths);

  std::string name_;
  Limiter limiter_;
  const std::vector<PathTemplate>& templates_;
  const std::int64_t* clock_ns_;
  std::map<std::size_t, Error> unknown_roots_;  // by template
  std::vector<std::size_t> known_;              // all other templates
  std::vector<limitree_path> known_paths_;      // buffer for decide()
  std::array<limitree_level, 64>
      levels_;                // levels to blame are among the first
  std::vector<bool> blamed_;  // by template
  std::string caller_;        // buffer for blame()
  Verdict verdict_;
  ReplayResult result_;
};

}  // namespace limitree::cli
