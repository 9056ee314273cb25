#include "store/remote/wire/connection.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/store/redis/fake_server.hpp"
#include "core/store/redis/free_port.hpp"
#include "core/store/redis/wire.hpp"
#include "store/redis/common/remote.hpp"

namespace limitree::redis::connection_test {
namespace {

using std::chrono::milliseconds;

// Most tests send no commands to log in.
const Settings kSettings{};
const Login kNoLogin{"", "", 0, ""};

const std::string kPing = resp({"PING"});
const std::string kGet = resp({"GET", "a"});

// Waits until the connection is closed, and checks the reason.
void expect_closed(Wire* connection, Failure failure,
                   const std::string& detail) {
  EXPECT_TRUE(run_until(connection, [&] { return connection->closed(); }));
  EXPECT_STREQ(failure_name(connection->failure()), failure_name(failure));
  EXPECT_EQ(connection->detail(), detail);
  EXPECT_EQ(connection->fd(), -1);
  EXPECT_FALSE(connection->wants_write());
  EXPECT_FALSE(connection->ready());
  EXPECT_EQ(connection->in_flight(), 0U);
}

// ---- the ordinary case ------------------------------------------------------

TEST(Connection, AsksAndIsAnswered) {
  FakeServer server([](Peer& peer) {
    peer.expect(kPing);
    peer.send("+PONG\r\n");
    peer.expect(kGet);
    peer.send("$1\r\n7\r\n");
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  EXPECT_EQ(ask(&connection, {"PING"}), "PONG");
  EXPECT_TRUE(connection.ready());
  EXPECT_EQ(ask(&connection, {"GET", "a"}), "7");
  EXPECT_EQ(connection.in_flight(), 0U);
  EXPECT_EQ(connection.unsent(), 0U);
}

TEST(Connection, SendsNothingBeforeItIsFlushed) {
  FakeServer server([](Peer& peer) { peer.wait_for_end(); });
  TestCommand command({"PING"});
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  EXPECT_FALSE(connection.wants_write());
  connection.push(&command);
  EXPECT_EQ(connection.unsent(), kPing.size());
  EXPECT_EQ(connection.in_flight(), 1U);
  EXPECT_TRUE(connection.wants_write());
  connection.flush();
  EXPECT_EQ(connection.unsent(), 0U);
  EXPECT_FALSE(connection.wants_write());
}

TEST(Connection, ManyCommandsAreAnsweredInTheirOrder) {
  constexpr int kCount = 5000;
  FakeServer server([](Peer& peer) {
    for (int i = 0; i < kCount; ++i) peer.expect(kGet);
    std::string replies;
    for (int i = 0; i < kCount; ++i) {
      replies += ":" + std::to_string(i) + "\r\n";
    }
    peer.send(replies);
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  std::vector<std::unique_ptr<TestCommand>> commands;
  for (int i = 0; i < kCount; ++i) {
    commands.push_back(std::make_unique<TestCommand>(
        std::initializer_list<std::string_view>{"GET", "a"}));
    connection.push(commands.back().get());
  }
  connection.flush();
  ASSERT_TRUE(run_until(&connection, [&] { return commands.back()->done(); }));
  for (int i = 0; i < kCount; ++i) {
    const TestCommand& command = *commands[static_cast<std::size_t>(i)];
    ASSERT_EQ(command.text(), std::to_string(i));
    ASSERT_EQ(command.completions(), 1);
  }
}

// The commands are far larger than the buffers of two sockets.
TEST(Connection, SendsTheRestWhenTheSocketTakesItAgain) {
  const std::string value(std::size_t{1} << 20U, 'x');
  constexpr int kCount = 16;
  Login login = kNoLogin;
  login.client_name = "me";
  FakeServer server([&](Peer& peer) {
    peer.expect(resp({"CLIENT", "SETNAME", "me"}));
    peer.send("+OK\r\n");
    for (int i = 0; i < kCount; ++i) {
      peer.expect(resp({"SET", "a", value}));
      peer.send("+OK\r\n");
    }
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, login);
  std::vector<std::unique_ptr<TestCommand>> commands;
  for (int i = 0; i < kCount; ++i) {
    commands.push_back(std::make_unique<TestCommand>(
        std::initializer_list<std::string_view>{"SET", "a", value}));
    connection.push(commands.back().get());
  }
  bool waited = false;
  EXPECT_TRUE(run_until(&connection, [&] {
    waited |= connection.ready() && connection.unsent() > 0;
    return commands.back()->done();
  }));
  EXPECT_TRUE(waited);
  for (const auto& command : commands) EXPECT_EQ(command->text(), "OK");
}

TEST(Connection, ErrorRepliesAreAnswers) {
  FakeServer server(
      answering(kPing, "-LOADING Redis is loading the dataset in memory\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  ASSERT_TRUE(run_until(&connection, [&] { return command.done(); }));
  EXPECT_EQ(command.outcome().fate, Outcome::Fate::kAnswered);
  EXPECT_EQ(command.outcome().failure, Failure::kLoading);
  EXPECT_FALSE(connection.closed());
}

// ---- replies in pieces ------------------------------------------------------

const std::string kReply =
    "*5\r\n:1\r\n$2\r\n\r\n\r\n$-1\r\n*1\r\n+x\r\n:-4\r\n";

TEST(Connection, RepliesMayComeByteByByte) {
  FakeServer server([](Peer& peer) {
    peer.expect(resp({"AUTH", "secret"}) + resp({"SELECT", "3"}) +
                resp({"CLIENT", "SETNAME", "me"}));
    peer.send_bytewise("+OK\r\n+OK\r\n+OK\r\n");
    peer.expect(kGet + kGet);
    peer.send_bytewise(kReply + kReply);
    peer.wait_for_end();
  });
  const Login login{"", "secret", 3, "me"};
  Wire connection(server.endpoint(), kSettings, login);
  TestCommand first({"GET", "a"});
  TestCommand second({"GET", "a"});
  connection.push(&first);
  connection.push(&second);
  ASSERT_TRUE(run_until(&connection, [&] { return second.done(); }));
  for (const TestCommand* command : {&first, &second}) {
    ASSERT_EQ(command->outcome().fate, Outcome::Fate::kAnswered);
    const redisReply& reply = redis_reply(command->outcome());
    ASSERT_EQ(reply.elements, 5U);
    EXPECT_EQ(reply.element[4]->integer, -4);
  }
}

// Cuts the answer to the first of two commands at every place.
class CutReply : public testing::TestWithParam<bool> {};

TEST_P(CutReply, LosesWhatWasSentAndNotAnswered) {
  for (std::size_t cut = 0; cut <= kReply.size(); ++cut) {
    FakeServer server([&](Peer& peer) {
      peer.expect(kGet + kGet);
      peer.send(kReply.substr(0, cut));
      if (GetParam()) {
        peer.reset();
      } else {
        peer.close();
      }
    });
    Wire connection(server.endpoint(), kSettings, kNoLogin);
    TestCommand first({"GET", "a"});
    TestCommand second({"GET", "a"});
    connection.push(&first);
    connection.push(&second);
    expect_closed(
        &connection, Failure::kLost,
        GetParam() ? "connection reset by peer" : "closed by the server");
    // Bytes that came before a reset may be lost with it.
    if (cut < kReply.size()) {
      EXPECT_EQ(first.text(), "unknown: lost") << cut;
    } else if (!GetParam()) {
      EXPECT_EQ(first.text(), "(array)") << cut;
    }
    EXPECT_EQ(second.text(), "unknown: lost") << cut;
    EXPECT_EQ(first.completions(), 1);
    EXPECT_EQ(second.completions(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Connection, CutReply, testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "ByReset" : "ByClosing";
                         });

TEST(Connection, AHalfReplyIsWaitedFor) {
  FakeServer server(answering(kGet, "$10\r\nhalf"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand command({"GET", "a"});
  connection.push(&command);
  EXPECT_FALSE(run_until(
      &connection, [&] { return command.done(); }, milliseconds(100)));
  EXPECT_EQ(connection.in_flight(), 1U);
  connection.close(Failure::kTimeout, "no answer");
  EXPECT_EQ(command.text(), "unknown: timeout");
  EXPECT_EQ(command.outcome().detail, "no answer");
  EXPECT_EQ(connection.failure(), Failure::kTimeout);
}

// Callers may have no more patience than a busy machine takes to run a server.
TEST(ConnectionSilence, IsNotShorterThanABlip) {
  FakeServer server([](Peer& peer) { peer.wait_for_end(); });
  Traffic traffic;
  const RedisProtocol protocol(kNoLogin);
  Node node(server.endpoint(), protocol, &traffic);
  Settings settings;
  settings.timeout = milliseconds(10);
  Connection connection(&node, settings);
  const Monotonic start = std::chrono::steady_clock::now();
  connection.prepare(start, false);
  while (!connection.ready() && connection.open()) connection.run(start);
  TestCommand command({"GET", "a"});
  connection.push(&command, false, start);
  connection.flush();
  EXPECT_TRUE(connection.prepare(start + milliseconds(249), false));
  EXPECT_FALSE(node.health().open());
  EXPECT_FALSE(connection.prepare(start + milliseconds(251), false));
  EXPECT_TRUE(node.health().open());
  connection.close(Failure::kLost, "the end of the test");
}

// ---- replies that are wrong -------------------------------------------------

struct Wrong {
  const char* name;
  std::string bytes;
  const char* detail;
};

class WrongReply : public testing::TestWithParam<Wrong> {};

TEST_P(WrongReply, ClosesTheConnection) {
  FakeServer server(answering(kPing, GetParam().bytes));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  expect_closed(&connection, Failure::kProtocol, GetParam().detail);
  EXPECT_EQ(command.text(), "unknown: protocol");
}

INSTANTIATE_TEST_SUITE_P(
    Connection, WrongReply,
    testing::Values(
        Wrong{"AWebServer", "HTTP/1.1 400 Bad Request\r\n\r\n",
              "not the protocol of Redis: got \"H\" as reply type byte"},
        Wrong{"ABomb", "*1000000000\r\n",
              "a reply too large, too deep or not of RESP2"},
        Wrong{"TooLong",
              "$1048577\r\n" + std::string(std::size_t{1} << 20U, 'x'),
              "a reply too large"},
        Wrong{"ATlsAlert", std::string("\x15\x03\x03\x00\x02\x02\x28", 7),
              "the server speaks TLS"}),
    [](const auto& test) { return test.param.name; });

TEST(Connection, APushClosesIt) {
  FakeServer server(answering(kPing, ">2\r\n+invalidate\r\n*0\r\n+PONG\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  EXPECT_EQ(ask(&connection, {"PING"}), "unknown: protocol");
}

TEST(Connection, AReplyTooManyClosesIt) {
  FakeServer server(answering(kPing, "+PONG\r\n+PONG\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  expect_closed(&connection, Failure::kProtocol,
                "a reply that nobody asked for");
  EXPECT_EQ(command.text(), "PONG");
}

// Otherwise, the reply would be taken for the answer to a command that has not
// been sent yet.
TEST(Connection, AReplyTooSoonClosesIt) {
  FakeServer server([](Peer& peer) {
    peer.send("+PONG\r\n");
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  pollfd watched{connection.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&watched, 1, 10'000), 1);
  TestCommand command({"PING"});
  connection.push(&command);
  connection.run();
  expect_closed(&connection, Failure::kProtocol,
                "a reply that nobody asked for");
  EXPECT_EQ(command.text(), "not sent: protocol");
}

TEST(Connection, AServerMaySayWhyItDoesNotTalk) {
  FakeServer server([](Peer& peer) {
    peer.send("-ERR max number of clients reached\r\n");
    peer.close();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  expect_closed(&connection, Failure::kMaxClients,
                "ERR max number of clients reached");
}

// ---- the greeting -----------------------------------------------------------

struct Greeted {
  const char* name;
  Login login;
  std::string bytes;
  int replies;
};

class Introduction : public testing::TestWithParam<Greeted> {};

TEST_P(Introduction, GoesBeforeTheFirstCommand) {
  FakeServer server([](Peer& peer) {
    peer.expect(GetParam().bytes);
    for (int i = 0; i < GetParam().replies; ++i) peer.send("+OK\r\n");
    peer.expect(kPing);
    peer.send("+PONG\r\n");
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, GetParam().login);
  EXPECT_EQ(ask(&connection, {"PING"}), "PONG");
}

INSTANTIATE_TEST_SUITE_P(
    Connection, Introduction,
    testing::Values(
        Greeted{"None", kNoLogin, "", 0},
        Greeted{"Name", Login{}, resp({"CLIENT", "SETNAME", "limitree"}), 1},
        Greeted{"Password", {"", "p w", 0, ""}, resp({"AUTH", "p w"}), 1},
        Greeted{"User",
                {"alex", "secret", 0, ""},
                resp({"AUTH", "alex", "secret"}),
                1},
        Greeted{"UserWithoutPassword",
                {"alex", "", 7, ""},
                resp({"SELECT", "7"}),
                1},
        Greeted{"All",
                {"alex", "secret", 2, "me"},
                resp({"AUTH", "alex", "secret"}) + resp({"SELECT", "2"}) +
                    resp({"CLIENT", "SETNAME", "me"}),
                3}),
    [](const auto& test) { return test.param.name; });

struct Refused {
  const char* name;
  std::string replies;
  Failure failure;
  const char* detail;
};

class RefusedLogin : public testing::TestWithParam<Refused> {};

TEST_P(RefusedLogin, SendsNoCommand) {
  const Login login{"", "secret", 2, "me"};
  FakeServer server(answering(resp({"AUTH", "secret"}) + resp({"SELECT", "2"}) +
                                  resp({"CLIENT", "SETNAME", "me"}),
                              GetParam().replies));
  Wire connection(server.endpoint(), kSettings, login);
  TestCommand command({"PING"});
  connection.push(&command);
  connection.flush();
  expect_closed(&connection, GetParam().failure, GetParam().detail);
  EXPECT_EQ(command.text(),
            std::string("not sent: ") + failure_name(GetParam().failure));
  EXPECT_EQ(command.outcome().detail.find("secret"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Connection, RefusedLogin,
    testing::Values(
        Refused{"Password",
                "-WRONGPASS invalid username-password pair or user is "
                "disabled.\r\n",
                Failure::kWrongPass,
                "AUTH was refused: WRONGPASS invalid username-password pair "
                "or user is disabled."},
        Refused{"NoPasswordNeeded",
                "-ERR AUTH <password> called without any password configured "
                "for the default user. Are you sure your configuration is "
                "correct?\r\n",
                Failure::kWrongPass,
                "AUTH was refused: ERR AUTH <password> called without any "
                "password configured for the default user. Are you sure your "
                "configuration is correct?"},
        Refused{"AuthUnknown",
                "-ERR unknown command `AUTH`, with args beginning with: "
                "`secret`, \r\n",
                Failure::kWrongPass, "AUTH was refused"},
        Refused{"Database", "+OK\r\n-ERR DB index is out of range\r\n",
                Failure::kOther,
                "SELECT was refused: ERR DB index is out of range"},
        Refused{"TooManyClients",
                "+OK\r\n+OK\r\n-ERR max number of clients reached\r\n",
                Failure::kMaxClients,
                "the connection was refused: ERR max number of clients "
                "reached"},
        Refused{"NoReply", "+OK\r\n:1\r\n", Failure::kProtocol,
                "not an answer to the login"},
        Refused{"Garbage", "+OK\r\n?", Failure::kProtocol,
                "not the protocol of Redis: got \"?\" as reply type byte"}),
    [](const auto& test) { return test.param.name; });

TEST(Connection, ANameThatIsRefusedDoesNotMatter) {
  FakeServer server([](Peer& peer) {
    peer.expect(resp({"CLIENT", "SETNAME", "limitree"}));
    peer.send(
        "-NOPERM this user has no permissions to run the 'client|setname' "
        "command\r\n");
    peer.expect(kPing);
    peer.send("+PONG\r\n");
    peer.wait_for_end();
  });
  const Login login;
  Wire connection(server.endpoint(), kSettings, login);
  EXPECT_EQ(ask(&connection, {"PING"}), "PONG");
}

TEST(Connection, NothingIsSentIfTheServerLeavesDuringTheLogin) {
  FakeServer server([](Peer& peer) {
    peer.expect(resp({"CLIENT", "SETNAME", "limitree"}));
    peer.close();
  });
  const Login login;
  Wire connection(server.endpoint(), kSettings, login);
  TestCommand command({"PING"});
  connection.push(&command);
  expect_closed(&connection, Failure::kLost,
                "closed by the server before it answered the login (does it "
                "speak TLS?)");
  EXPECT_EQ(command.text(), "not sent: lost");
}

// ---- no connection ----------------------------------------------------------

TEST(Connection, TellsThatNobodyListens) {
  const FreePort port;
  Endpoint endpoint;
  endpoint.host = "127.0.0.1";
  endpoint.port = static_cast<std::uint16_t>(port.number());
  Wire connection(endpoint, kSettings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  expect_closed(&connection, Failure::kRefused, "connection refused");
  EXPECT_EQ(command.text(), "not sent: refused");
}

TEST(Connection, TellsThatThereIsNoSocket) {
  Endpoint endpoint;
  endpoint.socket = "/nowhere/redis.sock";
  Wire connection(endpoint, kSettings, kNoLogin);
  expect_closed(&connection, Failure::kRefused, "no such file or directory");
  TestCommand command({"PING"});
  connection.push(&command);
  EXPECT_EQ(command.text(), "not sent: refused");
}

TEST(Connection, TellsThatThePathIsTooLong) {
  Endpoint endpoint;
  endpoint.socket = "/" + std::string(200, 'x');
  Wire connection(endpoint, kSettings, kNoLogin);
  expect_closed(&connection, Failure::kResolve,
                "the path of the socket is too long");
}

TEST(Connection, NeverWaitsForAnAddressThatDoesNotAnswer) {
  const DeafServer server;
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  connection.flush();
  connection.run();
  EXPECT_TRUE(connection.wants_write());
  EXPECT_FALSE(run_until(
      &connection, [&] { return command.done(); }, milliseconds(100)));
  connection.close(Failure::kTimeout, "no answer");
  EXPECT_EQ(command.text(), "not sent: timeout");
}

// On most systems "localhost" is ::1 first, and no server listens there.
TEST(Connection, TriesAllAddressesOfAName) {
  FakeServer server(answering(kPing, "+PONG\r\n"));
  Endpoint endpoint = server.endpoint();
  endpoint.host = "localhost";
  Wire connection(endpoint, kSettings, kNoLogin);
  EXPECT_EQ(ask(&connection, {"PING"}), "PONG");
}

// Running out of descriptors is an error like any other, and does no lasting
// harm.
TEST(Connection, TellsThatThereAreNoDescriptorsLeft) {
  FakeServer server(answering(kPing, "+PONG\r\n"));
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit none{0, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (const char* const host : {"127.0.0.1", "localhost"}) {
    Endpoint endpoint = server.endpoint();
    endpoint.host = host;
    Wire connection(endpoint, kSettings, kNoLogin);
    EXPECT_TRUE(connection.closed());
    EXPECT_EQ(connection.detail(), "too many open files");
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  EXPECT_EQ(ask(&connection, {"PING"}), "PONG");
}

// ---- a server that goes away ------------------------------------------------

// After a pause, the connection checks whether the server has closed it.  If
// so, it sends nothing, and the command has certainly not been executed.
TEST(Connection, NoticesThatTheServerLeftBeforeItSends) {
  FakeServer server([](Peer& peer) {
    peer.expect(kPing);
    peer.send("+PONG\r\n");
    peer.close();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_EQ(ask(&connection, {"PING"}), "PONG");
  pollfd watched{connection.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&watched, 1, 10'000), 1);
  std::this_thread::sleep_for(milliseconds(20));  // the pause
  TestCommand command({"GET", "a"});
  connection.push(&command);
  connection.flush();
  EXPECT_EQ(command.text(), "not sent: lost");
}

// Writing to a connection that is closed in both directions fails with EPIPE,
// and would raise SIGPIPE by default.
TEST(Connection, GetsNoSignalFromAServerThatIsGone) {
  std::promise<void> ready;
  FakeServer server([&](Peer& peer) {
    peer.expect(kPing);
    peer.send("+PONG\r\n");
    ready.get_future().wait();
    peer.end_sending();
    peer.reset();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand first({"PING"});
  connection.push(&first);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  ready.set_value();
  pollfd watched{connection.fd(), 0, 0};
  do {
    ASSERT_EQ(poll(&watched, 1, 10'000), 1);
  } while ((watched.revents & (POLLHUP | POLLERR)) == 0);
  TestCommand second({"GET", "a"});
  connection.push(&second);
  connection.flush();
  run_until(&connection, [&] { return connection.closed(); });
  EXPECT_EQ(second.completions(), 1);
  EXPECT_NE(second.outcome().fate, Outcome::Fate::kAnswered);
}

// The connection still reads what the server sent before the reset.
TEST(Connection, HearsTheLastWordOfAServerThatTakesNoMore) {
  FakeServer server([](Peer& peer) {
    peer.expect(kPing);
    peer.send("+PONG\r\n");
    peer.reset();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand first({"PING"});
  connection.push(&first);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  pollfd watched{connection.fd(), POLLRDHUP, 0};
  ASSERT_EQ(poll(&watched, 1, 10'000), 1);
  TestCommand second({"GET", "a"});
  connection.push(&second);
  connection.flush();
  run_until(&connection, [&] { return connection.closed(); });
  EXPECT_EQ(first.completions(), 1);
  EXPECT_EQ(second.completions(), 1);
  EXPECT_NE(second.outcome().fate, Outcome::Fate::kAnswered);
}

// ---- callers that go away ---------------------------------------------------

TEST(Connection, DropsTheAnswerToAnAbandonedCommand) {
  FakeServer server(answering(kGet + kPing, "$3\r\nold\r\n+PONG\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand second({"PING"});
  {
    TestCommand first({"GET", "a"});
    connection.push(&first);
    connection.push(&second);
    ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
    EXPECT_TRUE(connection.abandon(&first));
    EXPECT_FALSE(first.done());
  }
  EXPECT_EQ(connection.in_flight(), 2U);
  ASSERT_TRUE(run_until(&connection, [&] { return second.done(); }));
  EXPECT_EQ(second.text(), "PONG");
  EXPECT_EQ(connection.in_flight(), 0U);
}

TEST(Connection, NeverSendsACommandAbandonedBefore) {
  FakeServer server(
      answering(kPing + resp({"ASKING"}) + kPing, "+1\r\n+OK\r\n+2\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand kept({"PING"});
  TestCommand kept_too({"PING"});
  TestCommand given_up({"GET", "a"});
  TestCommand given_up_too({"GET", "a"});
  connection.push(&kept);
  connection.push(&given_up);
  connection.push(&given_up_too, true);
  connection.push(&kept_too, true);
  EXPECT_FALSE(connection.abandon(&given_up));
  EXPECT_FALSE(connection.abandon(&given_up_too));
  EXPECT_EQ(connection.in_flight(), 2U);
  ASSERT_TRUE(run_until(&connection, [&] { return kept_too.done(); }));
  EXPECT_EQ(kept.text(), "1");
  EXPECT_EQ(kept_too.text(), "2");
  EXPECT_FALSE(given_up.done());
  EXPECT_FALSE(given_up_too.done());
}

TEST(Connection, AbandonsTheOnlyCommand) {
  FakeServer server([](Peer& peer) { peer.wait_for_end(); });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  EXPECT_FALSE(connection.abandon(&command));
  EXPECT_FALSE(connection.abandon(&command));
  EXPECT_EQ(connection.unsent(), 0U);
  EXPECT_EQ(connection.in_flight(), 0U);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  EXPECT_FALSE(connection.wants_write());
}

TEST(Connection, AskingIsAnsweredTooAndNotHeard) {
  FakeServer server(answering(resp({"ASKING"}) + kGet + kPing,
                              "+OK\r\n$1\r\n7\r\n+PONG\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand first({"GET", "a"});
  TestCommand second({"PING"});
  connection.push(&first, true);
  connection.push(&second);
  EXPECT_EQ(connection.in_flight(), 2U);
  ASSERT_TRUE(run_until(&connection, [&] { return second.done(); }));
  EXPECT_EQ(first.text(), "7");
  EXPECT_EQ(second.text(), "PONG");
}

// ---- the end ----------------------------------------------------------------

TEST(Connection, CompletesWhatIsLeftWhenItIsDestroyed) {
  FakeServer server([](Peer& peer) {
    peer.expect(kPing);
    peer.wait_for_end();
  });
  TestCommand sent({"PING"});
  TestCommand unsent({"GET", "a"});
  {
    Wire connection(server.endpoint(), kSettings, kNoLogin);
    connection.push(&sent);
    ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
    connection.push(&unsent);
  }
  EXPECT_EQ(sent.text(), "unknown: cancelled");
  EXPECT_EQ(unsent.text(), "not sent: cancelled");
}

TEST(Connection, ClosesOnce) {
  FakeServer server([](Peer& peer) { peer.wait_for_end(); });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  connection.close(Failure::kReadOnly, "a replica now");
  connection.close(Failure::kLost, "again");
  connection.run();
  connection.flush();
  EXPECT_EQ(command.completions(), 1);
  EXPECT_EQ(command.text(), "not sent: readonly");
  EXPECT_EQ(connection.detail(), "a replica now");
}

// The child closes its copy of the socket, and the parent continues to use its
// own.
TEST(Connection, IsAbandonedInTheChildOfAFork) {
  FakeServer server([](Peer& peer) {
    peer.expect(kPing);
    peer.expect(kGet);
    peer.send("+PONG\r\n$1\r\n7\r\n");
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand first({"PING"});
  connection.push(&first);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  const int fd = connection.fd();
  const pid_t child = fork();
  if (child == 0) {
    connection.abandon_after_fork();
    const bool forgotten = connection.closed() && connection.fd() == -1 &&
                           connection.in_flight() == 0 && !first.done() &&
                           fcntl(fd, F_GETFD) == -1;
    _exit(forgotten ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ask(&connection, {"GET", "a"}), "7");
  EXPECT_EQ(first.text(), "PONG");
}

TEST(Connection, IsAbandonedWhileItConnects) {
  const DeafServer server;
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand command({"PING"});
  connection.push(&command);
  connection.abandon_after_fork();
  EXPECT_TRUE(connection.closed());
  EXPECT_EQ(connection.fd(), -1);
  EXPECT_FALSE(command.done());
}

}  // namespace
}  // namespace limitree::redis::connection_test
