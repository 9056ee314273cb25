// TLS with a real server: which servers a client accepts, and which it refuses.

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/redis/chaos_proxy.hpp"
#include "core/store/redis/fake_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/wire.hpp"
#include "core/store/temporary_folder.hpp"
#include "io/dialer.hpp"
#include "io/socket.hpp"
#include "io/tls_stream.hpp"
#include "store/redis/common/remote.hpp"
#include "store/remote/wire/outbox.hpp"
#include "store/remote/wire/stream.hpp"
#include "store/remote/wire/tls_certificates.hpp"

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

// Stands between a client and the server.
class Relay {
 public:
  Relay(const TlsClientContext& context, const Endpoint& endpoint)
      : server_(connect_to(endpoint)) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ours_ = Fd(ends[0]);
    client_ =
        connect_tls(context, Fd(ends[1]), "localhost", TlsProtocol::kOther);
  }

  Transport& client() { return *client_; }

  // Hands on what the client has sent, in pieces, and then one piece of what
  // the server has to say, if it does soon.
  void pass(std::size_t piece) {
    char bytes[16384];
    ssize_t size = 0;
    while ((size = receive_some(ours_.get(), bytes, sizeof bytes)) > 0) {
      const std::string_view said(bytes, static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < said.size(); i += piece) {
        send_all(said.substr(i, piece));
      }
    }
    if (!wait_for(server_.get(), false,
                  steady_now() + std::chrono::milliseconds(100))) {
      return;
    }
    size = receive_some(server_.get(), bytes, piece);
    if (size > 0) forge({bytes, static_cast<std::size_t>(size)});
  }

  void hang_up() { ours_.reset(); }
  std::unique_ptr<Transport> take_client() { return std::move(client_); }

  // To the client.
  void forge(std::string_view bytes) { send_some(ours_.get(), bytes); }

 private:
  static Fd connect_to(const Endpoint& endpoint) {
    Dialer dialer(endpoint);
    while (!dialer.failed()) {
      Fd socket = dialer.take_socket();
      if (socket) return socket;
      wait_for(dialer.fd(), dialer.wants_write(),
               steady_now() + std::chrono::seconds(1));
      dialer.run();
    }
    ADD_FAILURE() << dialer.detail();
    return {};
  }

  void send_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send_some(server_.get(), bytes);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else {
        wait_for(server_.get(), true,
                 steady_now() + std::chrono::milliseconds(100));
      }
    }
  }

  Fd server_;
  Fd ours_;
  std::unique_ptr<Transport> client_;
};

TEST_F(Tls, SpeaksByteByByte) {
  const auto context = TlsClientContext::load(trusting(*server_));
  Relay relay(*context, tls_endpoint(*server_, "127.0.0.1"));
  std::string answer;
  bool asked = false;
  while (answer.size() < 7) {
    char text[64];
    const IoResult got = relay.client().read(text);
    ASSERT_NE(got.outcome, Io::kClosed) << relay.client().trouble();
    if (got.outcome == Io::kDone) answer.append(text, got.size);
    if (relay.client().established() && !asked) {
      asked = relay.client().write(resp({"PING"})).outcome == Io::kDone;
    }
    if (got.outcome == Io::kAgain) relay.pass(1);
  }
  EXPECT_EQ(answer, "+PONG\r\n");
}

// Cuts the connection later and later, until the whole answer comes through.
TEST_F(Tls, MayBeCutAtAnyPlace) {
  const Settings settings = settings_of(trusting(*server_));
  ChaosProxy proxy(server_->tls_port());
  Endpoint endpoint;
  endpoint.host = "localhost";
  endpoint.port = static_cast<std::uint16_t>(proxy.port());
  server_->cli({"DEL", "cut"});
  int sent = 0;
  bool answered = false;
  for (int cut = 0; !answered; cut += 53) {
    ASSERT_LT(cut, 20'000);
    proxy.cut_after = cut;
    TestCommand command({"INCR", "cut"});
    Wire connection(endpoint, settings, kNoLogin);
    connection.push(&command);
    ASSERT_TRUE(run_until(&connection, [&] { return command.done(); }));
    // If the cut comes early, the command is not sent.  If it comes later, the
    // command is sent, but its answer may not arrive.
    answered = command.outcome().fate == Outcome::Fate::kAnswered;
    if (command.outcome().fate != Outcome::Fate::kNotSent) ++sent;
    EXPECT_TRUE(answered || command.text() == "not sent: lost" ||
                command.text() == "unknown: lost")
        << command.text();
    EXPECT_EQ(command.completions(), 1);
  }
  // Only what was sent can have been carried out.
  EXPECT_LE(std::stoi(server_->cli({"GET", "cut"})), sent);
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
  Relay relay(*context, tls_endpoint(*server_, "127.0.0.1"));
  char text[64];
  while (!relay.client().established()) {
    ASSERT_EQ(relay.client().read(text).outcome, Io::kAgain);
    if (!relay.client().established()) relay.pass(16384);
  }
  relay.forge(std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'));
  EXPECT_EQ(relay.client().read(text).outcome, Io::kClosed);
  EXPECT_TRUE(relay.client().trouble().starts_with("TLS: "));
}

// The server hangs up because of a client without a certificate, and says why
// before that: the client may learn of the end first, when it writes.
TEST_F(Tls, ReadsWhatTheServerSaidAfterAFailedWrite) {
  const auto context = TlsClientContext::load(trusting(*server_));
  Relay relay(*context, tls_endpoint(*server_, "127.0.0.1"));
  char text[64];
  while (!relay.client().established()) {
    ASSERT_EQ(relay.client().read(text).outcome, Io::kAgain);
    if (!relay.client().established()) relay.pass(16384);
  }
  ASSERT_EQ(relay.client().write(resp({"PING"})).outcome, Io::kDone);
  for (int i = 0; i < 3; ++i) relay.pass(16384);
  relay.hang_up();
  EXPECT_EQ(relay.client().write(resp({"PING"})).outcome, Io::kClosed);
  EXPECT_NE(relay.client().trouble(), "");
  const IoResult got = relay.client().read(text);
  ASSERT_EQ(got.outcome, Io::kDone) << relay.client().trouble();
  EXPECT_EQ(std::string(text, got.size), "+PONG\r\n");
  EXPECT_EQ(relay.client().read(text).outcome, Io::kClosed);
  EXPECT_EQ(relay.client().trouble(), "");
}

// The socket takes nothing more in the middle of what is to be sent, some of
// which is encrypted then: that part counts as sent, and it comes through once.
TEST_F(Tls, GoesOnWhereAFullSocketStopped) {
  const auto context = TlsClientContext::load(trusting(*server_));
  Endpoint endpoint = tls_endpoint(*server_, "127.0.0.1");
  const std::string word(100'000, 'x');
  Relay relay(*context, endpoint);
  Stream stream(relay.take_client());
  char text[16384];
  while (!stream.established()) {
    stream.receive(text, sizeof text);
    ASSERT_FALSE(stream.failed()) << stream.detail();
    Outbox none;
    stream.send(&none);
    if (!stream.established()) relay.pass(16384);
  }
  Outbox box;
  constexpr int kTimes = 50;
  for (int i = 0; i < kTimes; ++i) {
    const std::string command = resp({"ECHO", std::to_string(i) + ":" + word});
    box.tail()->append(command);
  }
  EXPECT_FALSE(stream.send(&box));
  EXPECT_TRUE(stream.wants_write());
  EXPECT_GT(stream.pending(), 0U);
  // What is left may be taken back; the rest still comes through.
  const std::uint64_t end = box.end();
  box.tail()->append("taken back");
  box.take_back(end, box.end());
  std::string answers;
  for (int i = 0; i < 100'000 && answers.size() < kTimes * word.size(); ++i) {
    stream.send(&box);
    relay.pass(16384);
    while (const std::size_t size = stream.receive(text, sizeof text)) {
      answers.append(text, size);
    }
    ASSERT_FALSE(stream.failed()) << stream.detail();
  }
  EXPECT_TRUE(box.empty());
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_NE(answers.find("\n" + std::to_string(i) + ":xxx"),
              std::string::npos)
        << i;
  }
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
