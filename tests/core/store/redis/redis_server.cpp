#include "core/store/redis/redis_server.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace limitree::redis {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 20s;  // enough on a busy machine
constexpr timeval kTimeout = {20, 0};

struct Disconnect {
  void operator()(redisContext* context) const { redisFree(context); }
};
using Context = std::unique_ptr<redisContext, Disconnect>;

// hiredis writes without MSG_NOSIGNAL, so SIGPIPE would end the test when a
// server was just killed.  limitree itself is tested without this protection.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    // Takes a pending signal, which would arrive once it is unblocked.
    const timespec now{};
    while (sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

RedisServer::Reply send(redisContext* context,
                        const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const WithoutSigpipe quiet;
  void* const reply = redisCommandArgv(context, static_cast<int>(words.size()),
                                       texts.data(), sizes.data());
  return {static_cast<redisReply*>(reply),
          [](redisReply* one) { freeReplyObject(one); }};
}

// Connects over the unix socket, which every server has, whatever its other
// settings.  Returns null if the server takes no connections.
Context connect(const std::string& socket) {
  Context context(redisConnectUnixWithTimeout(socket.c_str(), kTimeout));
  if (context == nullptr || context->err != 0) return nullptr;
  redisSetTimeout(context.get(), kTimeout);
  send(context.get(), {"AUTH", "fixture", "any"});
  return context;
}

bool answers(const std::string& socket) {
  const Context context = connect(socket);
  if (context == nullptr) return false;
  const RedisServer::Reply reply = send(context.get(), {"PING"});
  return reply != nullptr && reply->type == REDIS_REPLY_STATUS;
}

std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_NIL:
      return "(nil)";
    case REDIS_REPLY_INTEGER:
      return std::to_string(reply.integer);
    case REDIS_REPLY_ARRAY: {
      std::string lines;
      for (std::size_t i = 0; i < reply.elements; ++i) {
        if (i > 0) lines += '\n';
        lines += text_of(*reply.element[i]);
      }
      return lines;
    }
    default:
      return {reply.str, static_cast<std::size_t>(reply.len)};
  }
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

RedisServer::RedisServer(RedisServerOptions options)
    : options_(std::move(options)) {
  if (options_.tls) make_certificates(folder());
  // Another program may listen on the same port, for example on ::1.  FreePort
  // does not prevent that.
  for (int attempt = 0; attempt < 10; ++attempt) {
    write_config();
    if (launch()) return;
    port_ = FreePort();
    tls_port_ = FreePort();
  }
  throw std::runtime_error("no free port for redis-server");
}

RedisServer::~RedisServer() {
  if (pid_ != 0) kill();
}

std::string RedisServer::file(const std::string& name) const {
  return folder() + "/" + name;
}

std::string RedisServer::log() const { return read_file(file("redis.log")); }

void RedisServer::write_config() const {
  std::ofstream out(file("redis.conf"));
  out << "bind 127.0.0.1 -::1\nport " << port() << "\ndir " << folder()
      << "\nunixsocket " << socket() << "\nlogfile " << file("redis.log")
      << "\nuser fixture on nopass ~* &* +@all\n";
  if (!options_.sentinel) out << "save ''\nappendonly no\n";
  if (options_.tls) {
    out << "tls-port " << tls_port() << "\ntls-ca-cert-file " << file("ca.crt")
        << "\ntls-cert-file " << file(options_.certificate + ".crt")
        << "\ntls-key-file " << file(options_.certificate + ".key")
        << "\ntls-auth-clients " << (options_.tls_clients ? "yes" : "no")
        << '\n';
  }
  for (const std::string& line : options_.config) out << line << '\n';
}

void RedisServer::start() {
  if (!launch()) throw std::runtime_error("port taken:\n" + log());
}

bool RedisServer::launch() {
  std::ofstream(file("redis.log")).flush();  // log() shows only this run
  std::vector<std::string> words = options_.launcher;
  words.insert(words.end(), {"redis-server", file("redis.conf")});
  if (options_.sentinel) words.emplace_back("--sentinel");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log_path = file("redis.log");
  pid_ = fork();
  if (pid_ == 0) {
    // The server must not outlive the test, even if the test is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The server gets its own session.  Without a terminal, the test's process
    // group may be orphaned, and the kernel sends SIGHUP to such a group when
    // one of its processes is stopped.
    setsid();
    const int out = open(log_path.c_str(), O_WRONLY | O_APPEND);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  if (pid_ < 0) throw std::runtime_error("fork");
  const auto deadline = Clock::now() + kPatience;
  while (!answers(socket())) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      if (log().find("Address already in use") != std::string::npos) {
        return false;
      }
      throw std::runtime_error("redis-server ended:\n" + log());
    }
    if (Clock::now() > deadline) {
      kill();
      throw std::runtime_error("redis-server does not answer:\n" + log());
    }
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

void RedisServer::wait_for_end() {
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

void RedisServer::stop() {
  ::kill(pid_, SIGTERM);
  wait_for_end();
}

void RedisServer::kill() {
  ::kill(pid_, SIGKILL);
  wait_for_end();
}

void RedisServer::restart() {
  stop();
  start();
}

void RedisServer::suspend() {
  ::kill(pid_, SIGSTOP);
  while (waitpid(pid_, nullptr, WUNTRACED) < 0 && errno == EINTR) {
  }
}

void RedisServer::resume() { ::kill(pid_, SIGCONT); }

RedisServer::Reply RedisServer::command(
    const std::vector<std::string>& words) const {
  const Context context = connect(socket());
  if (context == nullptr) throw std::runtime_error("cannot reach redis-server");
  Reply reply = send(context.get(), words);
  if (reply == nullptr) {
    throw std::runtime_error(words[0] + ": " + context->errstr);
  }
  return reply;
}

std::string RedisServer::cli(const std::vector<std::string>& words) const {
  return text_of(*command(words));
}

}  // namespace limitree::redis
