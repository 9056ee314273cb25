// A redis-server of the test's own: in a temporary folder, on a free port, gone
// with the object.

#ifndef LIMITREE_TESTS_CORE_STORE_REDIS_REDIS_SERVER_HPP
#define LIMITREE_TESTS_CORE_STORE_REDIS_REDIS_SERVER_HPP

#include <hiredis/hiredis.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/store/redis/free_port.hpp"
#include "core/store/redis/temporary_folder.hpp"

namespace limitree::redis {

// What makes a server differ from a plain one.
struct RedisServerOptions {
  // Lines of redis.conf: "requirepass secret", "user alex on >secret ~* +@all",
  // "maxmemory 2mb", "replicaof 127.0.0.1 7001", "cluster-enabled yes".  The
  // user "fixture" is taken.
  std::vector<std::string> config = {};

  // What it is started through: "ip netns exec <name>", "env LD_PRELOAD=...".
  std::vector<std::string> launcher = {};

  bool sentinel = false;  // a redis-sentinel; `config` tells what it monitors

  // Listens with TLS too.  The names are those of make_certificates().
  bool tls = false;
  std::string certificate = "server";
  bool tls_clients = false;  // wants a certificate of the client
};

class RedisServer {
 public:
  // Starts the server and waits until it answers; throws std::runtime_error
  // with its log if it does not.
  //
  // The server is killed if the thread that started it ends.
  explicit RedisServer(RedisServerOptions options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // All of them stay the same as long as the object, also while no server runs.
  int port() const { return port_.number(); }
  int tls_port() const { return tls_port_.number(); }
  const std::string& folder() const { return folder_.path(); }
  std::string file(const std::string& name) const;  // in the folder
  std::string socket() const { return file("redis.sock"); }
  std::string log() const;  // what the server has written so far

  pid_t pid() const { return pid_; }  // 0: stopped

  void stop();     // orderly: SIGTERM; returns when it has ended
  void kill();     // SIGKILL; returns when it has ended
  void start();    // after stop() or kill()
  void restart();  // stop() and start()

  void suspend();  // SIGSTOP; returns when it has stopped
  void resume();

  // Runs a command over a connection of its own, as a user who may do all.
  using Reply = std::unique_ptr<redisReply, void (*)(redisReply*)>;
  Reply command(const std::vector<std::string>& words) const;

  // The same, as text: bulk and status as they are, numbers in decimal, "(nil)"
  // for null, an error's text, and the elements of an array in lines.
  std::string cli(const std::vector<std::string>& words) const;

 private:
  void write_config() const;
  bool launch();  // false if its ports turned out to be taken
  void wait_for_end();

  const RedisServerOptions options_;
  const TemporaryFolder folder_{"redis"};
  FreePort port_;
  FreePort tls_port_;
  pid_t pid_ = 0;
};

// Writes into `folder`, each as name.crt and name.key:
//   ca, other_ca   authorities that know nothing of each other
//   server         by ca, for localhost, 127.0.0.1 and ::1
//   expired        the same, valid until yesterday
//   elsewhere      by ca, for another host
//   client         by ca, for the other end
void make_certificates(const std::string& folder);

}  // namespace limitree::redis

#endif  // LIMITREE_TESTS_CORE_STORE_REDIS_REDIS_SERVER_HPP
