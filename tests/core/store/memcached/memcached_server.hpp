// Runs a memcached for a test: on a free port, until the object is destroyed.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/store/redis/free_port.hpp"
#include "core/store/temporary_folder.hpp"
#include "store/memcached/settings.hpp"

namespace limitree::memcached {

class MemcachedServer {
 public:
  // Starts the server with these further arguments and waits until it answers;
  // throws std::runtime_error with its log if it does not.
  //
  // The server is killed if the thread that started it ends.
  explicit MemcachedServer(std::vector<std::string> arguments = {});
  ~MemcachedServer();
  MemcachedServer(const MemcachedServer&) = delete;
  MemcachedServer& operator=(const MemcachedServer&) = delete;

  // The port stays the same as long as the object exists.
  int port() const { return port_.number(); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port()); }
  std::string file(const std::string& name) const;  // in a folder of its own
  std::string log() const;

  pid_t pid() const { return pid_; }  // 0: stopped
  void kill();                        // returns when it has ended
  void start();                       // after kill()
  void suspend();                     // SIGSTOP; returns when it has stopped
  void resume();

  // Sends lines over a new connection and returns what comes up to `end`.
  std::string ask(const std::string& lines,
                  const std::string& end = "\r\n") const;

 private:
  bool launch();  // false if its port turned out to be taken
  void wait_for_end();

  const std::vector<std::string> arguments_;
  const TemporaryFolder folder_{"memcached"};
  FreePort port_;
  pid_t pid_ = 0;
};

// The settings that a limiter makes of `url`, but with another key prefix on
// each call, and with a deadline that is long enough on a busy machine.
inline Settings store_settings(const std::string& url) {
  static std::atomic<int> count = 0;
  Settings settings;
  settings.url = parse_url(url).value();
  settings.prefix = "test" + std::to_string(count++) + ":";
  settings.timeout = std::chrono::seconds(20);
  return settings;
}

}  // namespace limitree::memcached
