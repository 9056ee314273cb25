// Implements make_certificates() with the openssl command, and with the library
// what the command refuses to make.

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/store/redis/redis_server.hpp"

namespace limitree::redis {

namespace {

// Runs a program without a shell and discards its output.
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

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using File = std::unique_ptr<std::FILE, Free<std::fclose>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

// Moves the validity of a certificate into the past and signs it again.  Since
// 3.5 the openssl command refuses to make a certificate that ends before it
// begins.
void expire(const std::string& path, const std::string& authority_key) {
  constexpr long kDay = 24 * 60 * 60;
  File in(std::fopen(path.c_str(), "r"));
  const Certificate one(PEM_read_X509(in.get(), nullptr, nullptr, nullptr));
  in.reset(std::fopen(authority_key.c_str(), "r"));
  const Key key(PEM_read_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  X509_gmtime_adj(X509_getm_notBefore(one.get()), -2 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(one.get()), -kDay);
  const File out(std::fopen(path.c_str(), "w"));
  if (X509_sign(one.get(), key.get(), EVP_sha256()) == 0 ||
      PEM_write_X509(out.get(), one.get()) == 0) {
    throw std::runtime_error("expire " + path);
  }
}

class Authority {
 public:
  Authority(std::string folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {
    run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", kCurve,
         "-nodes", "-keyout", file(name_, "key"), "-out", file(name_, "crt"),
         "-days", "30", "-subj", "/CN=" + name_});
  }

  // Without `hosts` the common name is all that it has.
  void sign(const std::string& name, const std::string& hosts) {
    std::vector<std::string> request = {
        "openssl",         "req",  "-newkey",         "ec",
        "-pkeyopt",        kCurve, "-nodes",          "-keyout",
        file(name, "key"), "-out", file(name, "csr"), "-subj",
        "/CN=" + name};
    if (!hosts.empty()) {
      request.insert(request.end(), {"-addext", "subjectAltName=" + hosts});
    }
    run(std::move(request));
    run({"openssl", "x509", "-req", "-in", file(name, "csr"), "-CA",
         file(name_, "crt"), "-CAkey", file(name_, "key"), "-CAcreateserial",
         "-days", "30", "-copy_extensions", "copy", "-out", file(name, "crt")});
  }

  void sign_expired(const std::string& name, const std::string& hosts) {
    sign(name, hosts);
    expire(file(name, "crt"), file(name_, "key"));
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
  const std::string here = "DNS:localhost,IP:127.0.0.1,IP:::1";
  ca.sign("server", here);
  ca.sign_expired("expired", here);
  ca.sign("elsewhere", "DNS:redis.example.org");
  ca.sign("localhost", "");
  ca.sign("wildcard", "DNS:*.example.org");
  ca.sign("partial", "DNS:re*.example.org");
  ca.sign("client", "DNS:client.example.org");
}

}  // namespace limitree::redis
