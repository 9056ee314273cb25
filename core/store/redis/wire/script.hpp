// A script as a server knows it: by its text, or by the text's SHA-1.

#ifndef LIMITREE_STORE_REDIS_WIRE_SCRIPT_HPP
#define LIMITREE_STORE_REDIS_WIRE_SCRIPT_HPP

#include <memory>
#include <string>
#include <utility>

#include "base/sha.hpp"

namespace limitree::redis {

struct Script {
  explicit Script(std::string script)
      : text(std::move(script)), sha1(sha1_hex(text)) {}

  std::string text;
  std::string sha1;  // in hexadecimal

  // Decides several such requests in one call, one after the other and at one
  // time.  Its keys are those of the first request, those of the second and so
  // on, its reply an array of what this one would have replied to each, errors
  // included.  Null if there is none.
  std::unique_ptr<const Script> several;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_SCRIPT_HPP
