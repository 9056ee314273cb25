// The ACL rights that docs/redis.md tells operators to grant.

#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace limitree::redis {

inline std::string text_of_page() {
  std::ostringstream text;
  text << std::ifstream(LIMITREE_TEST_DATA "/../../docs/redis.md").rdbuf();
  return text.str();
}

// The rights that follow the password in the ACL SETUSER below `heading`:
// "~limitree:*", "+eval" and so on.
inline std::vector<std::string> documented_rights(const std::string& heading) {
  const std::string begin = "\nACL SETUSER limitree on >password ";
  const std::string text = text_of_page();
  const std::size_t below = text.find(heading);
  const std::size_t line = text.find(begin, below);
  if (below == text.npos || line == text.npos) {
    throw std::runtime_error("docs/redis.md lists no rights below: " + heading);
  }
  const std::size_t rights = line + begin.size();
  std::istringstream words(
      text.substr(rights, text.find('\n', rights) - rights));
  std::vector<std::string> found;
  for (std::string word; words >> word;) found.push_back(word);
  return found;
}

inline const std::string kServerRights = "## Rights";
inline const std::string kSentinelRights = "For sentinels that have users";

// A line of redis.conf for a user with the documented rights and `more`.
inline std::string user_line(const std::string& heading,
                             const std::vector<std::string>& more = {}) {
  std::string user = "user limitree on >password";
  for (const std::string& right : documented_rights(heading)) {
    user += " " + right;
  }
  for (const std::string& right : more) user += " " + right;
  return user;
}

}  // namespace limitree::redis
