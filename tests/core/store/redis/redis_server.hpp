// Runs a redis-server for a test: in a temporary folder, on a free port, until
// the object is destroyed.

#pragma once

#include <hiredis/hiredis.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/store/redis/free_port.hpp"
#include "core/store/temporary_folder.hpp"

namespace limitree::redis {

// What makes a server differ from a plain one.
struct RedisServerOptions {
  // Lines of redis.conf: "requirepass secret", "user alex on >secret ~* +@all",
  // "maxmemory 2mb", "replicaof 127.0.0.1 7001", "cluster-enabled yes".  The
  // user "fixture" is taken.
  std::vector<std::string> config = {};

  // Words before the command: "ip netns exec <name>", "env LD_PRELOAD=...".
  std::vector<std::string> launcher = {};

  bool sentinel = false;  // a redis-sentinel; `config` says what it monitors

  // Also listens with TLS.  `certificate` is a name of make_certificates().
  bool tls = false;
  std::string certificate = "server";
  bool tls_clients = false;  // requires client certificates
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

  // Ports and paths stay the same as long as the object exists, even while no
  // server runs.
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

  // Runs a command over a new connection, as a user with all rights.
  using Reply = std::unique_ptr<redisReply, void (*)(redisReply*)>;
  Reply command(const std::vector<std::string>& words) const;

  // The same, with the reply as text: strings, statuses and errors unchanged,
  // integers in decimal, null as "(nil)", and an array with one element per
  // line.
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
//   ca, other_ca   two unrelated authorities
//   server         signed by ca, for localhost, 127.0.0.1 and ::1
//   expired        the same, valid until yesterday
//   elsewhere      signed by ca, for another host
//   client         signed by ca, for the client
void make_certificates(const std::string& folder);

}  // namespace limitree::redis
