// What answers to Envoy have besides the decision.

#ifndef LIMITREE_SERVER_DECISIONS_ANSWER_SETTINGS_HPP
#define LIMITREE_SERVER_DECISIONS_ANSWER_SETTINGS_HPP

#include <string>

namespace limitree::server {

struct AnswerSettings {
  bool dynamic_metadata = false;
  bool headers = false;  // these three
  std::string limit_header = "RateLimit-Limit";
  std::string remaining_header = "RateLimit-Remaining";
  std::string reset_header = "RateLimit-Reset";
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_DECISIONS_ANSWER_SETTINGS_HPP
