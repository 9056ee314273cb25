// TLS with a real server: which servers a client accepts, and which it refuses.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/store/redis/chaos_proxy.hpp"
#include "core/store/redis/fake_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/wire.hpp"
#include "core/store/temporary_folder.hpp"
#include "io/dialer.hpp"
#include "io/tls_session.hpp"
#include "store/redis/wire/tls_certificates.hpp"

namespace limitree::redis::tls_test {
namespace {

const Login kNoLogin{"", "", 0, ""};

Settings settings_of(const TlsClientSettings& tls) {
  Settings settings;
  settings.tls = tls;
  settings.certificates = std::make_shared<TlsCertificates>(tls);
  return settings;
}

Endpoint tls_endpoint(const RedisServer& server, const std::string& host) {
  Endpoint endpoint;
  endpoint.host = host;
  endpoint.port = static_cast<std::uint16_t>(server.tls_port());
  return endpoint;
}

// Sends a PING, and returns PONG or the reason why there is no answer.
std::string ping(const Endpoint& endpoint, const Settings& settings,
                 const Login& login = kNoLogin) {
  Wire connection(endpoint, settings, login);
  const std::string answer = ask(&connection, {"PING"});
  return connection.closed() ? answer + ": " + connection.detail() : answer;
}

TlsClientSettings trusting(const RedisServer& server,
                           const char* name = "ca.crt") {
  TlsClientSettings tls;
  tls.ca_file = server.file(name);
  return tls;
}

// ---- which servers to trust -------------------------------------------------

class Tls : public testing::Test {
 protected:
  // Not in SetUpTestSuite(): if that fails, the tests are skipped, but a server
  // that does not start must count as a failure.
  void SetUp() override {
    if (expired_ != nullptr) return;
    server_ = new RedisServer({.tls = true});
    elsewhere_ = new RedisServer({.tls = true, .certificate = "elsewhere"});
    expired_ = new RedisServer({.tls = true, .certificate = "expired"});
  }
  static void TearDownTestSuite() {
    delete server_;
    delete elsewhere_;
    delete expired_;
  }

  static RedisServer* server_;
  static RedisServer* elsewhere_;
  static RedisServer* expired_;
};
RedisServer* Tls::server_ = nullptr;
RedisServer* Tls::elsewhere_ = nullptr;
RedisServer* Tls::expired_ = nullptr;

TEST_F(Tls, KnowsTheServerByNameAndByAddress) {
  const Settings settings = settings_of(trusting(*server_));
  EXPECT_EQ(ping(tls_endpoint(*server_, "localhost"), settings), "PONG");
  EXPECT_EQ(ping(tls_endpoint(*server_, "127.0.0.1"), settings), "PONG");
}

TEST_F(Tls, GreetsAsWithoutIt) {
  const Settings settings = settings_of(trusting(*server_));
  const Login login{"fixture", "any", 3, "me"};
  Wire connection(tls_endpoint(*server_, "localhost"), settings, login);
  EXPECT_EQ(ask(&connection, {"CLIENT", "GETNAME"}), "me");
  EXPECT_EQ(ask(&connection, {"ACL", "WHOAMI"}), "fixture");
}

TEST_F(Tls, CarriesMoreThanARecordHolds) {
  const Settings settings = settings_of(trusting(*server_));
  Wire connection(tls_endpoint(*server_, "localhost"), settings, kNoLogin);
  const std::string value(std::size_t{900} << 10U, 'x');
  ASSERT_EQ(ask(&connection, {"SET", "large", value}), "OK");
  EXPECT_EQ(ask(&connection, {"GET", "large"}), value);
  EXPECT_EQ(connection.unsent(), 0U);
}

TEST_F(Tls, CarriesManyCommandsAtOnce) {
  const Settings settings = settings_of(trusting(*server_));
  Wire connection(tls_endpoint(*server_, "localhost"), settings, kNoLogin);
  std::vector<std::unique_ptr<TestCommand>> commands;
  for (int i = 0; i < 3000; ++i) {
    const std::string number = std::to_string(i);
    commands.push_back(std::make_unique<TestCommand>(
        std::initializer_list<std::string_view>{"ECHO", number}));
    connection.push(commands.back().get());
  }
  ASSERT_TRUE(run_until(&connection, [&] { return commands.back()->done(); }));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(commands[static_cast<std::size_t>(i)]->text(), std::to_string(i));
  }
}

TEST_F(Tls, RefusesAnotherAuthority) {
  const Settings settings = settings_of(trusting(*server_, "other_ca.crt"));
  const std::string answer =
      ping(tls_endpoint(*server_, "localhost"), settings);
  EXPECT_TRUE(answer.starts_with("not sent: tls: TLS: ")) << answer;
  EXPECT_NE(answer.find("certificate"), std::string::npos) << answer;
}

TEST_F(Tls, TheSystemDoesNotKnowTheAuthority) {
  const std::string answer =
      ping(tls_endpoint(*server_, "localhost"), settings_of({}));
  EXPECT_TRUE(answer.starts_with("not sent: tls: TLS: ")) << answer;
}

TEST_F(Tls, RefusesTheCertificateOfAnotherHost) {
  const Settings settings = settings_of(trusting(*elsewhere_));
  EXPECT_EQ(ping(tls_endpoint(*elsewhere_, "localhost"), settings),
            "not sent: tls: TLS: hostname mismatch");
  EXPECT_EQ(ping(tls_endpoint(*elsewhere_, "127.0.0.1"), settings),
            "not sent: tls: TLS: IP address mismatch");
}

// A common name is free text; what an authority checks are alternative names.
TEST_F(Tls, RefusesACommonNameInPlaceOfAName) {
  const RedisServer server({.tls = true, .certificate = "localhost"});
  TlsClientSettings tls = trusting(server);
  EXPECT_EQ(ping(tls_endpoint(server, "localhost"), settings_of(tls)),
            "not sent: tls: TLS: hostname mismatch");
  tls.server_name = "localhost";
  EXPECT_EQ(ping(tls_endpoint(server, "127.0.0.1"), settings_of(tls)),
            "not sent: tls: TLS: hostname mismatch");
  tls.verify = false;
  EXPECT_EQ(ping(tls_endpoint(server, "localhost"), settings_of(tls)), "PONG");
}

TEST_F(Tls, MayExpectAnotherNameThanTheHost) {
  TlsClientSettings tls = trusting(*elsewhere_);
  tls.server_name = "redis.example.org";
  EXPECT_EQ(ping(tls_endpoint(*elsewhere_, "127.0.0.1"), settings_of(tls)),
            "PONG");
  tls.server_name = "example.org";
  EXPECT_EQ(ping(tls_endpoint(*elsewhere_, "127.0.0.1"), settings_of(tls)),
            "not sent: tls: TLS: hostname mismatch");
}

TEST_F(Tls, MayTakeAnyNameOfTheAuthority) {
  TlsClientSettings tls = trusting(*elsewhere_);
  tls.verify_name = false;
  for (const char* host : {"localhost", "127.0.0.1"}) {
    EXPECT_EQ(ping(tls_endpoint(*elsewhere_, host), settings_of(tls)), "PONG");
  }
  tls.ca_file = trusting(*expired_).ca_file;
  EXPECT_EQ(ping(tls_endpoint(*expired_, "localhost"), settings_of(tls)),
            "not sent: tls: TLS: certificate has expired");
  tls.ca_file = trusting(*server_, "other_ca.crt").ca_file;
  const std::string answer =
      ping(tls_endpoint(*elsewhere_, "localhost"), settings_of(tls));
  EXPECT_TRUE(answer.starts_with("not sent: tls: TLS: ")) << answer;
}

TEST_F(Tls, RefusesACertificateThatHasExpired) {
  const Settings settings = settings_of(trusting(*expired_));
  EXPECT_EQ(ping(tls_endpoint(*expired_, "localhost"), settings),
            "not sent: tls: TLS: certificate has expired");
}

TEST_F(Tls, TakesAnyCertificateIfToldNotToVerify) {
  TlsClientSettings tls;
  tls.verify = false;
  const Settings settings = settings_of(tls);
  EXPECT_EQ(ping(tls_endpoint(*elsewhere_, "127.0.0.1"), settings), "PONG");
  EXPECT_EQ(ping(tls_endpoint(*expired_, "localhost"), settings), "PONG");
}

// A server behind a Unix socket has no name that a certificate could have.
TEST_F(Tls, NeverVerifiesWithoutAName) {
  const Settings settings = settings_of(trusting(*server_));
  Endpoint endpoint;
  endpoint.socket = server_->socket();
  EXPECT_EQ(ping(endpoint, settings),
            "not sent: tls: TLS: no name that a certificate could have");
}

// ---- the client's side ------------------------------------------------------

TEST(TlsClient, ShowsItsCertificate) {
  const RedisServer server({.tls = true, .tls_clients = true});
  TlsClientSettings tls = trusting(server);
  tls.cert_file = server.file("client.crt");
  tls.key_file = server.file("client.key");
  EXPECT_EQ(ping(tls_endpoint(server, "localhost"), settings_of(tls)), "PONG");
}

// In TLS 1.3 the server says so only after the client has finished the
// handshake.  The connection learns of it while it waits for the answer to its
// login.
TEST(TlsClient, IsToldThatItNeedsACertificate) {
  const RedisServer server({.tls = true, .tls_clients = true});
  const Settings settings = settings_of(trusting(server));
  const std::string answer =
      ping(tls_endpoint(server, "localhost"), settings, Login{});
  EXPECT_TRUE(answer.starts_with("not sent: tls: TLS: ")) << answer;
  EXPECT_NE(answer.find("certificate required"), std::string::npos) << answer;
}

TEST(TlsClient, SpeaksTheVersionBefore) {
  const RedisServer server(
      {.config = {"tls-protocols \"TLSv1.2\""}, .tls = true});
  EXPECT_EQ(
      ping(tls_endpoint(server, "localhost"), settings_of(trusting(server))),
      "PONG");
}

// ---- only one side speaks TLS -----------------------------------------------

TEST(TlsMismatch, IsToldToThoseWhoSpeakIt) {
  FakeServer server([](Peer& peer) {
    peer.send("-ERR Protocol error: unbalanced quotes in request\r\n");
    peer.wait_for_end();
  });
  TlsClientSettings tls;
  tls.verify = false;
  EXPECT_EQ(ping(server.endpoint(), settings_of(tls)),
            "not sent: tls: TLS: wrong version number (does the server speak "
            "TLS?)");
}

TEST(TlsMismatch, IsToldToThoseWhoDoNot) {
  const RedisServer server({.tls = true});
  const std::string answer =
      ping(tls_endpoint(server, "localhost"), Settings{});
  EXPECT_TRUE(answer == "unknown: protocol: the server speaks TLS" ||
              answer.starts_with("unknown: lost: "))
      << answer;
  // If there is a login, it is the login that gets no answer.
  Login login;
  login.client_name = "plain";
  const std::string greeted =
      ping(tls_endpoint(server, "localhost"), Settings{}, login);
  EXPECT_NE(greeted.find("speak"), std::string::npos) << greeted;
}

TEST(TlsMismatch, AHandshakeThatIsNotAnsweredIsWaitedFor) {
  FakeServer server([](Peer& peer) { peer.wait_for_end(); });
  TlsClientSettings tls;
  tls.verify = false;
  const Settings settings = settings_of(tls);
  Wire connection(server.endpoint(), settings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  EXPECT_FALSE(run_until(
      &connection, [&] { return command.done(); },
      std::chrono::milliseconds(100)));
  EXPECT_STREQ(connection.waits_for(),
               "no answer to the TLS handshake, does the server speak TLS?");
  connection.close(Failure::kTimeout, "no answer");
  EXPECT_EQ(command.text(), "not sent: timeout");
}

TEST(TlsMismatch, AHandshakeThatIsBrokenOffIsALoss) {
  FakeServer server([](Peer& peer) { peer.close(); });
  TlsClientSettings tls;
  tls.verify = false;
  const std::string answer = ping(server.endpoint(), settings_of(tls));
  EXPECT_TRUE(answer.starts_with("not sent: lost: ")) << answer;
  EXPECT_TRUE(answer.ends_with(" in the TLS handshake")) << answer;
}

// ---- bytes ------------------------------------------------------------------

// Returns a connected socket that blocks, or none.
Fd connect_to(const Endpoint& endpoint) {
  Dialer dialer(endpoint);
  while (true) {
    Fd socket = dialer.take_socket();
    if (socket) {
      fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
      return socket;
    }
    if (dialer.failed()) return {};
    pollfd watched{dialer.fd(), POLLIN, 0};
    if (dialer.wants_write()) watched.events = POLLOUT;
    poll(&watched, 1, 1000);
    dialer.run();
  }
}

TEST_F(Tls, SpeaksByteByByte) {
  const auto context = TlsClientContext::load(trusting(*server_));
  const Fd socket = connect_to(tls_endpoint(*server_, "127.0.0.1"));
  ASSERT_TRUE(socket);
  TlsSession session(*context, "localhost");
  std::string answer;
  bool asked = false;
  while (answer.size() < 7 && !session.failed()) {
    session.handshake();
    if (session.established() && !asked) {
      session.write(resp({"PING"}));
      asked = true;
    }
    std::string out;
    session.take(&out);
    for (const char byte : out) ASSERT_EQ(send(socket.get(), &byte, 1, 0), 1);
    char byte = 0;
    ASSERT_EQ(recv(socket.get(), &byte, 1, 0), 1);
    session.feed({&byte, 1});
    if (!session.established()) continue;
    char text[64];
    answer.append(text, session.read(text, sizeof text));
  }
  EXPECT_EQ(session.detail(), "");
  EXPECT_EQ(answer, "+PONG\r\n");
}

// Cuts the connection later and later, until the whole answer comes through.
TEST_F(Tls, MayBeCutAtAnyPlace) {
  const Settings settings = settings_of(trusting(*server_));
  ChaosProxy proxy(server_->tls_port());
  Endpoint endpoint;
  endpoint.host = "localhost";
  endpoint.port = static_cast<std::uint16_t>(proxy.port());
  bool sent = false;
  std::string answer;
  for (int cut = 0; answer != "PONG"; cut += 53) {
    ASSERT_LT(cut, 20'000);
    proxy.cut_after = cut;
    TestCommand command({"PING"});
    Wire connection(endpoint, settings, kNoLogin);
    connection.push(&command);
    ASSERT_TRUE(run_until(&connection, [&] { return command.done(); }));
    answer = command.text();
    // If the cut comes early, the command is not sent.  If it comes later, the
    // command is sent, but its answer may not arrive.
    sent |= command.outcome().fate != Outcome::Fate::kNotSent;
    EXPECT_EQ(command.outcome().fate != Outcome::Fate::kNotSent, sent) << cut;
    EXPECT_TRUE(answer == "PONG" || answer == "not sent: lost" ||
                answer == "unknown: lost")
        << answer;
    EXPECT_EQ(command.completions(), 1);
  }
}

TEST_F(Tls, MayComeInCrumbs) {
  const Settings settings = settings_of(trusting(*server_));
  ChaosProxy proxy(server_->tls_port());
  proxy.crumble = true;
  Endpoint endpoint;
  endpoint.host = "localhost";
  endpoint.port = static_cast<std::uint16_t>(proxy.port());
  EXPECT_EQ(ping(endpoint, settings, Login{}), "PONG");
}

TEST_F(Tls, RefusesRecordsThatWereChanged) {
  const auto context = TlsClientContext::load(trusting(*server_));
  const Fd socket = connect_to(tls_endpoint(*server_, "127.0.0.1"));
  ASSERT_TRUE(socket);
  TlsSession session(*context, "localhost");
  char bytes[16384];
  std::string out;
  while (!session.established() && !session.failed()) {
    session.handshake();
    session.take(&out);
    send(socket.get(), out.data(), out.size(), 0);
    out.clear();
    if (session.established()) break;
    const ssize_t size = recv(socket.get(), bytes, sizeof bytes, 0);
    ASSERT_GT(size, 0);
    session.feed({bytes, static_cast<std::size_t>(size)});
  }
  ASSERT_TRUE(session.established()) << session.detail();
  session.feed(std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'));
  char text[64];
  EXPECT_EQ(session.read(text, sizeof text), 0U);
  EXPECT_TRUE(session.failed());
}

// The program may use OpenSSL in the same thread, and read the queue of errors
// after a failed call of its own.
TEST_F(Tls, LeavesNoErrorsBehind) {
  EXPECT_THROW(TlsClientContext::load({.ca_file = "/nowhere/ca.crt"}),
               limitree::Failure);
  EXPECT_EQ(ERR_peek_error(), 0U);
  const Settings settings = settings_of(trusting(*expired_));
  ping(tls_endpoint(*expired_, "localhost"), settings);
  EXPECT_EQ(ERR_peek_error(), 0U);
}

// Errors that the program left in the queue must not be taken for ours.
TEST_F(Tls, IgnoresErrorsOfOthers) {
  const Settings settings = settings_of(trusting(*server_));
  ERR_put_error(ERR_LIB_USER, 0, 1, "", 0);
  EXPECT_EQ(ping(tls_endpoint(*server_, "localhost"), settings), "PONG");
}

// ---- files ------------------------------------------------------------------

// A connection that is made after the files have changed trusts the new ones,
// or the old ones if the new ones are not valid.
TEST_F(Tls, CertificatesMayBeReplaced) {
  const TemporaryFolder folder("tls");
  const std::string file = folder.path() + "/ca.crt";
  const auto put = [&](const std::string& from) {
    std::filesystem::remove(file);
    std::filesystem::copy_file(from, file);
  };
  put(server_->file("other_ca.crt"));
  const Settings settings = settings_of({.ca_file = file});
  const Endpoint endpoint = tls_endpoint(*server_, "localhost");
  EXPECT_NE(ping(endpoint, settings), "PONG");
  put(server_->file("ca.crt"));
  EXPECT_EQ(ping(endpoint, settings), "PONG");
  put(server_->file("ca.key"));
  EXPECT_EQ(ping(endpoint, settings), "PONG");
}

TEST_F(Tls, TheSystemsAuthoritiesMayBeChosenByTheEnvironment) {
  const RedisServer server({.tls = true});
  ASSERT_EQ(setenv("SSL_CERT_FILE", server.file("ca.crt").c_str(), 1), 0);
  const Settings settings = settings_of({});
  EXPECT_EQ(unsetenv("SSL_CERT_FILE"), 0);
  EXPECT_EQ(ping(tls_endpoint(server, "localhost"), settings), "PONG");
}

}  // namespace
}  // namespace limitree::redis::tls_test
