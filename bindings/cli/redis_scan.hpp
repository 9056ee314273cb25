// Reads the names of buckets from Redis, a few at a time.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace limitree::cli {

// A caller in the store: the path that all its buckets begin with, and the
// rest of the path of each.
struct FoundCaller {
  std::vector<std::string> path;
  std::vector<std::vector<std::string>> below;
};

// Connections of its own to each primary: SCAN with a small COUNT, which a
// server answers in well below a millisecond, and never KEYS.
class RedisScan {
 public:
  // Buckets that a server looks at in one call.
  static constexpr int kCount = 100;

  // `url` is that of the option `store`; `settings` are the options NAME=VALUE
  // beside it, of which this takes `prefix` and those that say how to log in.
  // Throws UsageError for a store that is not Redis, and FileError if no server
  // answers.
  RedisScan(const std::string& url, const std::vector<std::string>& settings);
  ~RedisScan();
  RedisScan(const RedisScan&) = delete;
  RedisScan& operator=(const RedisScan&) = delete;

  // Asks each primary once, and appends whom it has found.  Returns whether
  // all buckets have been seen since the start, or since it last returned
  // true.  Throws FileError.
  bool next(std::vector<FoundCaller>* callers);

  std::size_t primaries() const;

 private:
  class Server;

  std::string prefix_ = "limitree:";
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace limitree::cli
