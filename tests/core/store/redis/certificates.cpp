// make_certificates(), with the openssl command.

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/store/redis/redis_server.hpp"

namespace limitree::redis {

namespace {

// Runs a program in silence, without a shell between.
void run(std::vector<std::string> words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t silence;
  posix_spawn_file_actions_init(&silence);
  posix_spawn_file_actions_addopen(&silence, 1, "/dev/null", 1, 0);
  posix_spawn_file_actions_addopen(&silence, 2, "/dev/null", 1, 0);
  pid_t pid = 0;
  const int failed =
      posix_spawnp(&pid, argv[0], &silence, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&silence);
  int status = -1;
  while (failed == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw std::runtime_error(words[0] + " " + words[1]);
}

class Authority {
 public:
  Authority(std::string folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {
    run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", kCurve,
         "-nodes", "-keyout", file(name_, "key"), "-out", file(name_, "crt"),
         "-days", "30", "-subj", "/CN=" + name_});
  }

  void sign(const std::string& name, const std::string& hosts, int days) {
    run({"openssl", "req", "-newkey", "ec", "-pkeyopt", kCurve, "-nodes",
         "-keyout", file(name, "key"), "-out", file(name, "csr"), "-subj",
         "/CN=" + name, "-addext", "subjectAltName=" + hosts});
    run({"openssl", "x509", "-req", "-in", file(name, "csr"), "-CA",
         file(name_, "crt"), "-CAkey", file(name_, "key"), "-CAcreateserial",
         "-days", std::to_string(days), "-copy_extensions", "copy", "-out",
         file(name, "crt")});
  }

 private:
  static constexpr char kCurve[] = "ec_paramgen_curve:P-256";

  std::string file(const std::string& name, const char* kind) const {
    return folder_ + "/" + name + "." + kind;
  }

  const std::string folder_;
  const std::string name_;
};

}  // namespace

void make_certificates(const std::string& folder) {
  Authority ca(folder, "ca");
  const Authority other(folder, "other_ca");
  ca.sign("server", "DNS:localhost,IP:127.0.0.1,IP:::1", 30);
  ca.sign("expired", "DNS:localhost,IP:127.0.0.1,IP:::1", -1);
  ca.sign("elsewhere", "DNS:redis.example.org", 30);
  ca.sign("client", "DNS:client.example.org", 30);
}

}  // namespace limitree::redis
