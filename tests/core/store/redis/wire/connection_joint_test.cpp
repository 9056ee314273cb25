// How a connection sends several commands as one.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/store/redis/fake_server.hpp"
#include "core/store/redis/joining.hpp"
#include "core/store/redis/wire.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/wire/pipeline.hpp"
#include "store/remote/wire/connection.hpp"

namespace limitree::redis {
namespace {

const Settings kSettings{};
const Login kNoLogin{"", "", 0, ""};
const std::string kPing = resp({"PING"});

class ConnectionJoint : public testing::Test {
 protected:
  std::string call(std::initializer_list<std::string_view> keys,
                   bool with_text = false) {
    std::string bytes;
    append_array(3 + keys.size(), &bytes);
    append_word(with_text ? "EVAL" : "EVALSHA", &bytes);
    append_word(with_text ? script_.text : script_.sha1, &bytes);
    append_word(static_cast<std::int64_t>(keys.size()), &bytes);
    for (const std::string_view key : keys) append_word(key, &bytes);
    return bytes;
  }

  void push_all(Wire* connection) {
    for (Command* const one : commands_.all()) connection->push(one);
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      texts.push_back(commands_.text(i));
    }
    return texts;
  }

  Script script_{"return KEYS"};
  JoiningCommands commands_{script_, 4};
};

const std::string kFour = "*4\r\n:0\r\n:1\r\n:2\r\n:3\r\n";
const std::vector<std::string> kEach = {"0", "1", "2", "3"};

TEST_F(ConnectionJoint, SendsWhatWaitsAsOne) {
  FakeServer server(
      answering(call({"k0", "k1", "k2", "k3"}) + kPing, kFour + "+PONG\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  TestCommand ping({"PING"});
  push_all(&connection);
  EXPECT_EQ(connection.in_flight(), 4U);
  EXPECT_GT(connection.unsent(), 0U);
  connection.push(&ping);  // must not overtake the others
  connection.flush();
  ASSERT_TRUE(run_until(&connection, [&] { return ping.done(); }));
  EXPECT_EQ(texts(), kEach);
  EXPECT_EQ(ping.text(), "PONG");
  EXPECT_EQ(connection.in_flight(), 0U);
  EXPECT_EQ(connection.unsent(), 0U);
}

TEST_F(ConnectionJoint, SendsAFewOneByOne) {
  FakeServer server(
      answering(resp({"ECHO", "k0"}) + resp({"ECHO", "k1"}), ":0\r\n:1\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  connection.push(&commands_[0]);
  connection.push(&commands_[1]);
  ASSERT_TRUE(run_until(&connection, [&] { return commands_[1].done(); }));
  EXPECT_EQ(commands_.text(0), "0");
  EXPECT_EQ(commands_.text(1), "1");
}

TEST_F(ConnectionJoint, WantsToWriteWhatHasCome) {
  FakeServer server([](Peer& peer) { peer.wait_for_end(); });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  EXPECT_FALSE(connection.wants_write());
  push_all(&connection);
  EXPECT_TRUE(connection.wants_write());
  connection.flush();
  EXPECT_FALSE(connection.wants_write());
}

// Only the connection uses the script for several commands, so only the
// connection can send its text to the server.
TEST_F(ConnectionJoint, SendsTheTextToAServerThatDoesNotKnowIt) {
  FakeServer server([this](Peer& peer) {
    peer.expect(call({"k0", "k1", "k2", "k3"}));
    peer.send("-NOSCRIPT No matching script\r\n");
    peer.expect(call({"k0", "k1", "k2", "k3"}, true));
    peer.send(kFour);
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  push_all(&connection);
  ASSERT_TRUE(run_until(&connection, [&] { return commands_[3].done(); }));
  EXPECT_EQ(texts(), kEach);
  EXPECT_EQ(connection.in_flight(), 0U);
}

TEST_F(ConnectionJoint, SendsTheTextForThoseWhoAreLeft) {
  FakeServer server([this](Peer& peer) {
    peer.expect(call({"k0", "k1", "k2", "k3"}));
    peer.expect(kPing);  // after the test has abandoned one
    peer.send("-NOSCRIPT No matching script\r\n+PONG\r\n");
    peer.expect(call({"k0", "k1", "k3"}, true));
    peer.send("*3\r\n:0\r\n:1\r\n:3\r\n");
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  push_all(&connection);
  connection.flush();
  EXPECT_TRUE(connection.abandon(&commands_[2]));
  TestCommand ping({"PING"});
  connection.push(&ping);
  connection.flush();
  ASSERT_TRUE(run_until(&connection, [&] { return commands_[3].done(); }));
  EXPECT_EQ(commands_.text(0), "0");
  EXPECT_EQ(commands_.text(1), "1");
  EXPECT_EQ(commands_[2].completions(), 0);
  EXPECT_EQ(commands_.text(3), "3");
  EXPECT_EQ(connection.in_flight(), 0U);
}

// The nodes of a cluster, and proxies in front of one, refuse a command whose
// keys are in different slots.
TEST_F(ConnectionJoint, JoinsNoMoreWhereKeysMustNotMeet) {
  const std::string one_by_one =
      resp({"ECHO", "k0"}) + resp({"ECHO", "k2"}) + resp({"ECHO", "k3"});
  FakeServer server([&](Peer& peer) {
    peer.expect(call({"k0", "k1", "k2", "k3"}) + kPing);
    peer.send("-CROSSSLOT Keys in request don't hash to the same slot\r\n");
    peer.expect(one_by_one);
    peer.send("+PONG\r\n:0\r\n:2\r\n:3\r\n");
    for (int i = 0; i < 4; ++i) {
      peer.expect(resp({"ECHO", "k" + std::to_string(i)}));
    }
    peer.send(":0\r\n:1\r\n:2\r\n:3\r\n");
    peer.wait_for_end();
  });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  push_all(&connection);
  TestCommand ping({"PING"});
  connection.push(&ping);
  connection.flush();
  EXPECT_TRUE(connection.abandon(&commands_[1]));
  ASSERT_TRUE(run_until(&connection, [&] { return commands_[3].done(); }));
  EXPECT_EQ(ping.text(), "PONG");
  EXPECT_EQ(commands_.text(0), "0");
  EXPECT_EQ(commands_[1].completions(), 0);
  EXPECT_EQ(commands_.text(3), "3");
  EXPECT_EQ(connection.in_flight(), 0U);

  JoiningCommands later(script_, 4);
  for (Command* const one : later.all()) connection.push(one);
  ASSERT_TRUE(run_until(&connection, [&] { return later[3].done(); }));
  EXPECT_EQ(later.text(3), "3");
}

TEST_F(ConnectionJoint, ForgetsWhatHasNotBeenPutTogether) {
  FakeServer server(answering(
      resp({"ECHO", "k0"}) + resp({"ECHO", "k2"}) + resp({"ECHO", "k3"}),
      ":0\r\n:2\r\n:3\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  push_all(&connection);
  EXPECT_FALSE(connection.abandon(&commands_[1]));
  EXPECT_EQ(connection.in_flight(), 3U);
  connection.flush();
  ASSERT_TRUE(run_until(&connection, [&] { return commands_[3].done(); }));
  EXPECT_EQ(commands_[1].completions(), 0);
  EXPECT_EQ(connection.in_flight(), 0U);
}

// The commands have been joined, because another command came, but no byte of
// them has been sent.
TEST_F(ConnectionJoint, TakesApartWhatHasNotBeenSent) {
  FakeServer server(answering(kPing + resp({"ECHO", "k0"}) +
                                  resp({"ECHO", "k2"}) + resp({"ECHO", "k3"}),
                              "+PONG\r\n:0\r\n:2\r\n:3\r\n"));
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  push_all(&connection);
  TestCommand ping({"PING"});
  connection.push(&ping);
  EXPECT_FALSE(connection.abandon(&commands_[1]));
  EXPECT_EQ(connection.in_flight(), 4U);
  EXPECT_TRUE(connection.wants_write());
  connection.flush();
  ASSERT_TRUE(run_until(&connection, [&] { return commands_[3].done(); }));
  EXPECT_EQ(ping.text(), "PONG");
  EXPECT_EQ(commands_.text(0), "0");
  EXPECT_EQ(commands_.text(2), "2");
  EXPECT_EQ(commands_.text(3), "3");
  EXPECT_EQ(connection.in_flight(), 0U);
}

TEST_F(ConnectionJoint, TellsAllWhenItIsClosed) {
  FakeServer server([](Peer& peer) { peer.wait_for_end(); });
  Wire connection(server.endpoint(), kSettings, kNoLogin);
  ASSERT_TRUE(run_until(&connection, [&] { return connection.ready(); }));
  push_all(&connection);
  connection.flush();
  JoiningCommands later(script_, 2);
  connection.push(&later[0]);
  connection.push(&later[1]);
  connection.close(Failure::kLost, "closed by the test");
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(commands_[i].outcome().fate, Outcome::Fate::kUnknown);
    EXPECT_EQ(commands_[i].completions(), 1);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(later[i].outcome().fate, Outcome::Fate::kNotSent);
    EXPECT_EQ(later[i].completions(), 1);
  }
  EXPECT_EQ(connection.in_flight(), 0U);
}

}  // namespace
}  // namespace limitree::redis
