// The rules of TLS, for each of those who make connections: the Redis store,
// and the client of an xDS server.

#include "io/tls_policy.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/store/redis/redis_server.hpp"
#include "core/store/temporary_folder.hpp"
#include "io/failure.hpp"
#include "io/poller.hpp"
#include "io/socket.hpp"
#include "io/timer.hpp"
#include "io/tls_client_context.hpp"
#include "io/tls_context.hpp"
#include "io/tls_files.hpp"
#include "io/tls_stream.hpp"

namespace limitree {
namespace {

struct Certificates {
  Certificates() { redis::make_certificates(folder.path()); }
  TemporaryFolder folder{"tls"};
};

std::string file(const std::string& name) {
  static const Certificates certificates;
  return certificates.folder.path() + "/" + name;
}

struct ServerSettings {
  std::string certificate = "server";
  int version = 0;  // the latest; 0: any
};

// A server of OpenSSL without any rules of ours, on a thread: makes one
// handshake and keeps the connection until the client closes it.
class Server {
 public:
  Server(const ServerSettings& settings, int fd) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to clients that are gone
    thread_ = std::thread([settings, fd] {
      const Fd owned(fd);
      SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
      SSL_CTX_set_security_level(context, 0);
      const std::string base = file(settings.certificate);
      SSL_CTX_use_certificate_chain_file(context, (base + ".crt").c_str());
      SSL_CTX_use_PrivateKey_file(context, (base + ".key").c_str(),
                                  SSL_FILETYPE_PEM);
      SSL_CTX_set_max_proto_version(context, settings.version);
      SSL_CTX_set_alpn_select_cb(
          context,
          [](SSL*, const unsigned char** out, unsigned char* size,
             const unsigned char* in, unsigned, void*) {
            *out = in + 1;
            *size = in[0];
            return SSL_TLSEXT_ERR_OK;
          },
          nullptr);
      SSL* const ssl = SSL_new(context);
      SSL_set_fd(ssl, fd);
      char byte = 0;
      if (SSL_accept(ssl) == 1) SSL_read(ssl, &byte, 1);
      SSL_free(ssl);
      SSL_CTX_free(context);
      ERR_clear_error();
    });
  }
  ~Server() { thread_.join(); }

 private:
  std::thread thread_;
};

// Returns "" after the handshake, or what is wrong.
template <TlsProtocol kProtocol>
struct Client {
  static std::string shake_hands(const TlsClientContext& context, Fd fd,
                                 const std::string& host) try {
    const auto stream = connect_tls(context, std::move(fd), host, kProtocol);
    while (true) {
      const IoResult put = stream->write("x");
      if (put.outcome == Io::kDone) return "";
      if (put.outcome == Io::kClosed) break;
      wait_for(stream->fd(), stream->needs() == Poller::kWrite,
               steady_now() + std::chrono::seconds(10));
    }
    const std::string trouble = stream->trouble();
    return trouble.starts_with("TLS: ") ? trouble.substr(5) : "closed";
  } catch (const Failure& failure) {
    return failure.what();
  }
};
using RedisClient = Client<TlsProtocol::kOther>;
using XdsClient = Client<TlsProtocol::kHttp2>;

template <typename Chosen>
class TlsPolicy : public testing::Test {
 protected:
  static std::string connect(const TlsClientContext& context,
                             const std::string& host,
                             const ServerSettings& settings = {}) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const Server server(settings, ends[0]);
    return Chosen::shake_hands(context, Fd(ends[1]), host);
  }
  static std::string connect(TlsClientSettings settings,
                             const std::string& host,
                             const ServerSettings& server = {}) {
    settings.ca_file = file("ca.crt");
    return connect(*TlsClientContext::load(settings), host, server);
  }
};
using Clients = testing::Types<RedisClient, XdsClient>;
TYPED_TEST_SUITE(TlsPolicy, Clients);

TYPED_TEST(TlsPolicy, KnowsServersByNameAndByAddress) {
  EXPECT_EQ(this->connect({}, "localhost"), "");
  EXPECT_EQ(this->connect({}, "127.0.0.1"), "");
  EXPECT_EQ(this->connect({}, "other.example"), "hostname mismatch");
  EXPECT_EQ(this->connect({}, "127.0.0.2"), "IP address mismatch");
  EXPECT_EQ(this->connect({}, ""), "no name that a certificate could have");
}

TYPED_TEST(TlsPolicy, ExpectsTheNameOfTheSettings) {
  EXPECT_EQ(this->connect({.server_name = "localhost"}, "127.0.0.2"), "");
  EXPECT_EQ(this->connect({.server_name = "other.example"}, "localhost"),
            "hostname mismatch");
}

TYPED_TEST(TlsPolicy, TheDotAtTheEndOfANameIsForNameServers) {
  EXPECT_EQ(this->connect({}, "localhost."), "");
  EXPECT_EQ(this->connect({.server_name = "localhost."}, "127.0.0.2"), "");
  EXPECT_EQ(this->connect({}, "other.example."), "hostname mismatch");
  EXPECT_EQ(this->connect({}, "."), "no name that a certificate could have");
}

// A common name is free text; what an authority checks are alternative names.
TYPED_TEST(TlsPolicy, IgnoresCommonNames) {
  EXPECT_EQ(this->connect({}, "localhost", {.certificate = "localhost"}),
            "hostname mismatch");
}

TYPED_TEST(TlsPolicy, AWildcardIsAWholeLabel) {
  const ServerSettings whole{.certificate = "wildcard"};
  EXPECT_EQ(this->connect({}, "redis.example.org", whole), "");
  EXPECT_EQ(this->connect({}, "a.b.example.org", whole), "hostname mismatch");
  EXPECT_EQ(this->connect({}, "redis.example.org", {.certificate = "partial"}),
            "hostname mismatch");
}

TYPED_TEST(TlsPolicy, MayVerifyLess) {
  EXPECT_EQ(this->connect({.verify_name = false}, "other.example"), "");
  const ServerSettings expired{.certificate = "expired"};
  EXPECT_EQ(this->connect({.verify_name = false}, "localhost", expired),
            "certificate has expired");
  EXPECT_EQ(this->connect({.verify = false}, "other.example", expired), "");
}

TYPED_TEST(TlsPolicy, VersionsBefore12AreRefused) {
  EXPECT_EQ(this->connect({}, "localhost", {.version = TLS1_2_VERSION}), "");
  EXPECT_NE(this->connect({}, "localhost", {.version = TLS1_1_VERSION}), "");
}

TYPED_TEST(TlsPolicy, TheSystemsAuthoritiesMayBeChosenByTheEnvironment) {
  EXPECT_NE(this->connect(*TlsClientContext::load({}), "localhost"), "");
  ASSERT_EQ(setenv("SSL_CERT_FILE", file("ca.crt").c_str(), 1), 0);
  const auto context = TlsClientContext::load({});
  EXPECT_EQ(unsetenv("SSL_CERT_FILE"), 0);
  EXPECT_EQ(this->connect(*context, "localhost"), "");
}

TYPED_TEST(TlsPolicy, FilesThatChangeAreReadAgain) {
  const TemporaryFolder folder("rotation");
  const std::string name = folder.path() + "/ca.crt";
  const auto put = [&](const std::string& from) {
    std::filesystem::remove(name);
    std::filesystem::copy_file(file(from), name);
  };
  put("other_ca.crt");
  TlsFiles<TlsClientContext> files({.ca_file = name});
  EXPECT_NE(this->connect(*files.context(), "localhost"), "");
  put("ca.crt");
  EXPECT_TRUE(files.refresh());
  EXPECT_FALSE(files.refresh());
  EXPECT_EQ(this->connect(*files.context(), "localhost"), "");
  put("ca.key");
  EXPECT_THROW(files.refresh(), Failure);
  EXPECT_EQ(this->connect(*files.context(), "localhost"), "");
}

// ---- the service ------------------------------------------------------------

// Why the service refuses a client with this certificate; empty if it does not.
std::string refusal_of_client(const std::string& certificate,
                              const std::string& name) {
  const auto context = TlsContext::load({.cert_file = file("server.crt"),
                                         .key_file = file("server.key"),
                                         .client_ca_file = file("ca.crt"),
                                         .client_names = {name}});
  const auto client =
      TlsClientContext::load({.ca_file = file("ca.crt"),
                              .cert_file = file(certificate + ".crt"),
                              .key_file = file(certificate + ".key")});
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const auto theirs =
      connect_tls(*client, Fd(ends[1]), "localhost", TlsProtocol::kHttp2);
  const auto ours = context->accept(Fd(ends[0]), TlsProtocol::kHttp2);
  char byte = 0;
  while (true) {
    (void)theirs->write("x");
    const IoResult got = ours->read({&byte, 1});
    if (got.outcome == Io::kDone) return "";
    if (got.outcome == Io::kClosed) return ours->trouble();
  }
}

TEST(TlsClients, AreKnownByTheSameRules) {
  EXPECT_EQ(refusal_of_client("client", "client.example.org"), "");
  EXPECT_EQ(refusal_of_client("client", "other.example.org"),
            "TLS: hostname mismatch");
  EXPECT_EQ(refusal_of_client("localhost", "localhost"),
            "TLS: hostname mismatch");
  EXPECT_EQ(refusal_of_client("wildcard", "redis.example.org"), "");
  EXPECT_EQ(refusal_of_client("partial", "redis.example.org"),
            "TLS: hostname mismatch");
}

// ---- sessions ---------------------------------------------------------------

std::shared_ptr<const TlsContext> service() {
  return TlsContext::load(
      {.cert_file = file("server.crt"), .key_file = file("server.key")});
}

struct FreeSession {
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
using Session = std::unique_ptr<SSL_SESSION, FreeSession>;

// Connects to the service, with a session from before if there is one.  Returns
// whether the service has resumed that, and keeps the new one.
bool resumes(const TlsContext& service, Session* session) {
  const auto context = TlsClientContext::load({.ca_file = file("ca.crt")});
  const TlsHandle client = context->connect("localhost");
  SSL_set_max_proto_version(client.get(), TLS1_2_VERSION);
  if (*session) SSL_set_session(client.get(), session->get());
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const Fd theirs(ends[1]);
  SSL_set_fd(client.get(), theirs.get());
  const auto ours = service.accept(Fd(ends[0]), TlsProtocol::kHttp);
  char byte = 0;
  while (SSL_do_handshake(client.get()) != 1) {
    if (ours->read({&byte, 1}).outcome != Io::kAgain) break;
  }
  session->reset(SSL_get1_session(client.get()));
  SSL_shutdown(client.get());  // or it counts as broken
  return SSL_session_reused(client.get()) == 1;
}

TEST(TlsSessions, AreResumedOnlyByTheContextThatMadeThem) {
  const auto before = service();
  Session session;
  EXPECT_FALSE(resumes(*before, &session));
  EXPECT_TRUE(resumes(*before, &session));
  EXPECT_FALSE(resumes(*service(), &session));  // after new files
}

TEST(TlsSessions, AreNotKeptByClients) {
  const auto context = TlsClientContext::load({.ca_file = file("ca.crt")});
  const TlsHandle client = context->connect("localhost");
  EXPECT_EQ(SSL_CTX_get_session_cache_mode(SSL_get_SSL_CTX(client.get())),
            SSL_SESS_CACHE_OFF);
}

// ---- records ----------------------------------------------------------------

// A server that lets its client have as much of its bytes as a test wants.
class SlowServer {
 public:
  explicit SlowServer(Fd socket) : socket_(std::move(socket)) {
    const std::string base = file("server");
    SSL_CTX_use_certificate_chain_file(context_.get(), (base + ".crt").c_str());
    SSL_CTX_use_PrivateKey_file(context_.get(), (base + ".key").c_str(),
                                SSL_FILETYPE_PEM);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl_.get());
  }

  void shake_hands() {
    char bytes[4096];
    const ssize_t got = recv(socket_.get(), bytes, sizeof bytes, 0);
    if (got > 0) BIO_write(SSL_get_rbio(ssl_.get()), bytes, int(got));
    SSL_do_handshake(ssl_.get());
    pass_on(SIZE_MAX);
  }
  void say(const std::string& text) {
    ASSERT_EQ(SSL_write(ssl_.get(), text.data(), int(text.size())),
              int(text.size()));
  }
  std::size_t kept() const {
    return BIO_ctrl_pending(SSL_get_wbio(ssl_.get()));
  }
  void pass_on(std::size_t size) {
    std::string bytes(std::min(size, kept()), '\0');
    BIO_read(SSL_get_wbio(ssl_.get()), bytes.data(), int(bytes.size()));
    EXPECT_EQ(send(socket_.get(), bytes.data(), bytes.size(), 0),
              ssize_t(bytes.size()));
  }

 private:
  const Fd socket_;
  const TlsContextHandle context_ = make_tls_context(TLS_server_method());
  TlsHandle ssl_;
};

// Otherwise who reads what is buffered would never wait for the rest.
TEST(TlsStream, APartOfARecordIsNotBuffered) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  SlowServer server{Fd(ends[1])};
  const auto client =
      connect_tls(*TlsClientContext::load({.ca_file = file("ca.crt")}),
                  Fd(ends[0]), "localhost", TlsProtocol::kOther);
  std::array<char, 100> text;
  while (!client->established()) {
    ASSERT_EQ(client->read(text).outcome, Io::kAgain);
    server.shake_hands();
  }
  while (client->read(text).outcome == Io::kDone) {
  }
  server.say("one");
  const std::size_t one = server.kept();
  server.say("two");
  server.pass_on(one + 9);
  const IoResult first = client->read(text);
  EXPECT_EQ(std::string(text.data(), first.size), "one");
  EXPECT_TRUE(client->has_buffered());
  EXPECT_EQ(client->read(text).outcome, Io::kAgain);
  EXPECT_FALSE(client->has_buffered());
  server.pass_on(9);
  EXPECT_EQ(client->read(text).outcome, Io::kAgain);
  EXPECT_FALSE(client->has_buffered());
  server.pass_on(SIZE_MAX);
  const IoResult second = client->read(text);
  EXPECT_EQ(std::string(text.data(), second.size), "two");
  EXPECT_FALSE(client->has_buffered());
}

// ---- files ------------------------------------------------------------------

// Why these settings make no context; empty if they make one.
std::string refusal(const TlsClientSettings& settings) {
  try {
    TlsClientContext::load(settings);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(TlsClientFiles, AreNamedWhenTheyAreMissing) {
  EXPECT_EQ(refusal({.ca_file = "/nowhere/ca.crt"}),
            "authorities /nowhere/ca.crt: no such file or directory");
  EXPECT_EQ(refusal({.ca_file = file("ca.crt"),
                     .cert_file = "/nowhere/client.crt",
                     .key_file = file("client.key")}),
            "certificate /nowhere/client.crt: no such file or directory");
  EXPECT_EQ(refusal({.ca_file = file("ca.crt"),
                     .cert_file = file("client.crt"),
                     .key_file = "/nowhere/client.key"}),
            "key /nowhere/client.key: no such file or directory");
}

TEST(TlsClientFiles, AreNamedWhenTheyAreWrong) {
  std::ofstream(file("empty"));
  std::ofstream(file("garbage")) << "-----BEGIN CERTIFICATE-----\nxyz\n";
  for (const char* const name : {"empty", "garbage", "ca.key"}) {
    const std::string why = refusal({.ca_file = file(name)});
    EXPECT_TRUE(why.starts_with("authorities " + file(name) + ": ")) << why;
    EXPECT_EQ(why.find("unknown error"), std::string::npos) << why;
  }
  EXPECT_TRUE(refusal({.ca_file = file("ca.crt"),
                       .cert_file = file("client.key"),
                       .key_file = file("client.key")})
                  .starts_with("certificate " + file("client.key") + ": "));
  EXPECT_EQ(refusal({.ca_file = file("ca.crt"),
                     .cert_file = file("client.crt"),
                     .key_file = file("server.key")}),
            "key " + file("server.key") + ": key values mismatch");
}

TEST(TlsClientFiles, NeedEachOther) {
  const std::string why = "a certificate and its key need each other";
  EXPECT_EQ(refusal({.cert_file = file("client.crt")}), why);
  EXPECT_EQ(refusal({.key_file = file("client.key")}), why);
}

// OpenSSL would ask for the password on the terminal of the program.
TEST(TlsClientFiles, KeysAreNotAskedAPasswordFor) {
  const std::string command = "openssl ec -in " + file("client.key") +
                              " -aes256 -passout pass:secret -out " +
                              file("locked.key") + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string why = refusal({.ca_file = file("ca.crt"),
                                   .cert_file = file("client.crt"),
                                   .key_file = file("locked.key")});
  EXPECT_EQ(why, "key " + file("locked.key") + ": it must not be encrypted");
  try {
    TlsContext::load(
        {.cert_file = file("client.crt"), .key_file = file("locked.key")});
    ADD_FAILURE() << "the service takes it";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.what(), why);
  }
}

}  // namespace
}  // namespace limitree
