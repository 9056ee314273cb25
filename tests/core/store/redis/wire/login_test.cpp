// How a connection logs in to a real server.

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/wire.hpp"

namespace limitree::redis::login_test {
namespace {

const Settings kSettings{};

Endpoint endpoint_of(const RedisServer& server) {
  Endpoint endpoint;
  endpoint.host = "127.0.0.1";
  endpoint.port = static_cast<std::uint16_t>(server.port());
  return endpoint;
}

Endpoint socket_of(const RedisServer& server) {
  Endpoint endpoint;
  endpoint.socket = server.socket();
  return endpoint;
}

// The answer to `words`, or why there is none.
std::string ask_as(const Login& login, const Endpoint& endpoint,
                   std::initializer_list<std::string_view> words) {
  Wire connection(endpoint, kSettings, login);
  const std::string answer = ask(&connection, words);
  return connection.closed() ? answer + ": " + connection.detail() : answer;
}

TEST(Login, ByTcpAndByUnixSocket) {
  const RedisServer server;
  for (const Endpoint& endpoint : {endpoint_of(server), socket_of(server)}) {
    EXPECT_EQ(ask_as({}, endpoint, {"PING"}), "PONG");
    EXPECT_EQ(ask_as({}, endpoint, {"CLIENT", "GETNAME"}), "limitree");
  }
}

TEST(Login, ChoosesTheDatabase) {
  const RedisServer server;
  const Endpoint endpoint = endpoint_of(server);
  EXPECT_EQ(ask_as({.db = 3}, endpoint, {"SET", "a", "1"}), "OK");
  EXPECT_EQ(ask_as({.db = 3}, endpoint, {"GET", "a"}), "1");
  EXPECT_EQ(ask_as({}, endpoint, {"GET", "a"}), "(nil)");
  EXPECT_EQ(ask_as({.db = 99}, endpoint, {"GET", "a"}),
            "not sent: other: SELECT was refused: ERR DB index is out of "
            "range");
}

TEST(Login, ByPassword) {
  const RedisServer server({.config = {"requirepass secret"}});
  const Endpoint endpoint = endpoint_of(server);
  EXPECT_EQ(ask_as({.password = "secret"}, endpoint, {"PING"}), "PONG");
  EXPECT_EQ(ask_as({.password = "wrong"}, endpoint, {"PING"}),
            "not sent: wrongpass: AUTH was refused: WRONGPASS invalid "
            "username-password pair or user is disabled.");
  EXPECT_EQ(ask_as({}, endpoint, {"PING"}),
            "not sent: noauth: the connection was refused: NOAUTH "
            "Authentication required.");
  EXPECT_EQ(ask_as({.client_name = ""}, endpoint, {"PING"}),
            "NOAUTH Authentication required.");
}

TEST(Login, ByAPasswordThatIsNotWanted) {
  const RedisServer server;
  const std::string answer =
      ask_as({.password = "secret"}, endpoint_of(server), {"PING"});
  EXPECT_TRUE(
      answer.starts_with("not sent: wrongpass: AUTH was refused: ERR "
                         "AUTH <password> called without"))
      << answer;
}

TEST(Login, ByUser) {
  const RedisServer server(
      {.config = {"user alex on >secret ~limitree:* +get +ping",
                  "user gone off >secret ~* +@all"}});
  const Endpoint endpoint = endpoint_of(server);
  Login login{.user = "alex", .password = "secret"};
  EXPECT_EQ(ask_as(login, endpoint, {"PING"}), "PONG");
  EXPECT_EQ(ask_as(login, endpoint, {"GET", "limitree:a"}), "(nil)");
  EXPECT_TRUE(ask_as(login, endpoint, {"GET", "a"}).starts_with("NOPERM "));
  login.db = 1;  // SELECT is not among the rights
  EXPECT_TRUE(
      ask_as(login, endpoint, {"PING"})
          .starts_with("not sent: noperm: SELECT was refused: NOPERM "));
  login = {.user = "gone", .password = "secret"};
  EXPECT_TRUE(ask_as(login, endpoint, {"PING"})
                  .starts_with("not sent: wrongpass: AUTH was refused: "));
}

// The password of the server and the file change, as when Vault rotates it.
TEST(Login, ByAFileThatIsReadForEachConnection) {
  const RedisServer server(
      {.config = {"requirepass first", "user alex on >one:two ~* +@all"}});
  const Endpoint endpoint = endpoint_of(server);
  const std::string file = server.file("password");
  const auto holds = [&](std::string_view text) {
    std::ofstream(file) << text;
  };
  Login login{.password_file = file};
  EXPECT_EQ(ask_as(login, endpoint, {"PING"}),
            "not sent: noauth: password_file: " + file +
                ": no such file or directory");
  holds("first\n");
  EXPECT_EQ(ask_as(login, endpoint, {"ACL", "WHOAMI"}), "default");
  server.cli({"CONFIG", "SET", "requirepass", "second"});
  EXPECT_TRUE(ask_as(login, endpoint, {"PING"})
                  .starts_with("not sent: wrongpass: AUTH was refused: "));
  holds("second");
  EXPECT_EQ(ask_as(login, endpoint, {"PING"}), "PONG");
  holds("alex:one:two\n");
  EXPECT_EQ(ask_as(login, endpoint, {"ACL", "WHOAMI"}), "alex");
  login.user = "alex";
  EXPECT_TRUE(
      ask_as(login, endpoint, {"PING"}).starts_with("not sent: wrongpass: "));
  holds("one:two");
  EXPECT_EQ(ask_as(login, endpoint, {"ACL", "WHOAMI"}), "alex");
  login.user.clear();
  holds(":second");
  EXPECT_EQ(ask_as(login, endpoint, {"ACL", "WHOAMI"}), "default");
  for (const char* text : {"", "alex:", "sec\nret"}) {
    holds(text);
    const std::string answer = ask_as(login, endpoint, {"PING"});
    EXPECT_TRUE(answer.starts_with("not sent: noauth: password_file: "))
        << answer;
    EXPECT_EQ(answer.find("sec"), answer.npos) << answer;
  }
}

TEST(Login, OneClientTooMany) {
  const RedisServer server({.config = {"maxclients 1"}});
  const Login login;
  Wire first(endpoint_of(server), kSettings, login);
  ASSERT_EQ(ask(&first, {"PING"}), "PONG");
  EXPECT_EQ(ask_as({}, endpoint_of(server), {"PING"}),
            "not sent: maxclients: the connection was refused: ERR max number "
            "of clients reached");
}

TEST(Login, AServerThatIsKilledLosesWhatItHasSeen) {
  RedisServer server;
  const Login login;
  TestCommand command({"BLPOP", "none", "0"});
  Wire connection(endpoint_of(server), kSettings, login);
  ASSERT_EQ(ask(&connection, {"PING"}), "PONG");
  connection.push(&command);
  connection.flush();
  server.kill();
  EXPECT_TRUE(run_until(&connection, [&] { return connection.closed(); }));
  EXPECT_EQ(command.text(), "unknown: lost");
  server.start();
  EXPECT_EQ(ask_as(login, endpoint_of(server), {"PING"}), "PONG");
}

TEST(Login, AServerThatStandsStillIsWaitedFor) {
  RedisServer server;
  server.suspend();
  const Login login;
  TestCommand command({"PING"});
  Wire connection(endpoint_of(server), kSettings, login);
  connection.push(&command);
  EXPECT_FALSE(run_until(
      &connection, [&] { return command.done(); },
      std::chrono::milliseconds(100)));
  EXPECT_FALSE(connection.ready());
  server.resume();
  EXPECT_TRUE(run_until(&connection, [&] { return command.done(); }));
  EXPECT_EQ(command.text(), "PONG");
}

}  // namespace
}  // namespace limitree::redis::login_test
