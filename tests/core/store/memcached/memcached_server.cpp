#include "core/store/memcached/memcached_server.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace limitree::memcached {

namespace {

using namespace std::chrono_literals;
using SteadyTime = std::chrono::steady_clock;

constexpr auto kStartPatience = 20s;  // enough on a busy machine

}  // namespace

MemcachedServer::MemcachedServer(std::vector<std::string> arguments)
    : arguments_(std::move(arguments)) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (launch()) return;
    port_ = FreePort();
  }
  throw std::runtime_error("no free port for memcached");
}

MemcachedServer::~MemcachedServer() {
  if (pid_ != 0) kill();
}

std::string MemcachedServer::file(const std::string& name) const {
  return folder_.path() + "/" + name;
}

std::string MemcachedServer::log() const {
  std::ostringstream text;
  text << std::ifstream(file("memcached.log")).rdbuf();
  return text.str();
}

void MemcachedServer::start() {
  if (!launch()) throw std::runtime_error("port taken:\n" + log());
}

bool MemcachedServer::launch() {
  std::vector<std::string> words = {"memcached", "-l", "127.0.0.1", "-p",
                                    std::to_string(port())};
  if (geteuid() == 0) words.insert(words.end(), {"-u", "root"});
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log_path = file("memcached.log");
  pid_ = fork();
  if (pid_ == 0) {
    // The server must not outlive the test, even if the test is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    const int out =
        open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  if (pid_ < 0) throw std::runtime_error("fork");
  const auto deadline = SteadyTime::now() + kStartPatience;
  while (ask("version\r\n").empty()) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      if (log().find("Address already in use") != std::string::npos) {
        return false;
      }
      throw std::runtime_error("memcached ended:\n" + log());
    }
    if (SteadyTime::now() > deadline) {
      kill();
      throw std::runtime_error("memcached does not answer:\n" + log());
    }
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

std::string MemcachedServer::ask(const std::string& lines,
                                 const std::string& end) const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(port()));
  const timeval timeout = {20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  std::string text;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, lines.data(), lines.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(lines.size())) {
    char bytes[4096];
    while (!text.ends_with(end)) {
      const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
      if (size <= 0) break;
      text.append(bytes, static_cast<std::size_t>(size));
    }
  }
  close(fd);
  return text;
}

void MemcachedServer::wait_for_end() {
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

void MemcachedServer::kill() {
  ::kill(pid_, SIGKILL);
  wait_for_end();
}

void MemcachedServer::suspend() {
  ::kill(pid_, SIGSTOP);
  while (waitpid(pid_, nullptr, WUNTRACED) < 0 && errno == EINTR) {
  }
}

void MemcachedServer::resume() { ::kill(pid_, SIGCONT); }

}  // namespace limitree::memcached
