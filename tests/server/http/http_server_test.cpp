#include "http/http_server.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace limitree::server {
namespace {

const std::string kEnd = " HTTP/1.1\r\nHost: x\r\n\r\n";

// Answers each request with its body when it is told to.
class Later {
 public:
  class State final : public RequestState {
   public:
    explicit State(Later* later) : later_(later) {}
    ~State() override { later_->waiting = nullptr; }

   private:
    Later* later_;
  };

  void on_request(Exchange* exchange) {
    waiting = exchange;
    exchange->keep(std::make_unique<State>(this));
  }

  Exchange* waiting = nullptr;
};

void answer_now(Exchange* exchange) {
  answer_text(exchange, 200, "now " + exchange->request().body);
}

class HttpServerTest : public testing::Test, public ConnectionOwner {
 protected:
  HttpServerTest() {
    server_.handlers()->add("/now", HttpMethods::kAny, answer_now);
    server_.handlers()->add(
        "/later", HttpMethods::kGet,
        [this](Exchange* exchange) { later_.on_request(exchange); });
  }

  void connect() {
    int fds[2];
    ASSERT_EQ(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
        0);
    client_ = Fd(fds[1]);
    connection_.emplace(ConnectionContext{&loop_, &settings_, &buffers_, this},
                        std::make_unique<PlainTransport>(Fd(fds[0])), Permit(),
                        server_.protocols());
  }

  void closed(Connection* connection) override {
    EXPECT_EQ(connection, &*connection_);
    connection_.reset();
    loop_.stop();
  }

  // Runs the loop for what is ready.
  void turn() {
    loop_.post([this] { loop_.stop(); });
    loop_.run();
  }

  void send(std::string_view bytes) {
    ASSERT_EQ(write(client_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    turn();
  }

  // What the server has sent, without the lines that are always there.
  std::string receive() {
    std::string text;
    char block[4096];
    for (ssize_t size = 0;
         (size = read(client_.get(), block, sizeof block)) > 0;) {
      text.append(block, static_cast<std::size_t>(size));
    }
    for (const std::string_view line :
         {"Date: ", "Content-Type: ", "Content-Length: "}) {
      for (std::size_t at = 0; (at = text.find(line)) != text.npos;) {
        text.erase(at, text.find("\r\n", at) + 2 - at);
      }
    }
    return text;
  }

  bool client_sees_the_end() {
    char byte = 0;
    return read(client_.get(), &byte, 1) == 0;
  }

  Loop loop_;
  ConnectionSettings settings_;
  Later later_;
  HttpServer server_{1000};
  IoBuffers buffers_;
  std::optional<Connection> connection_;
  Fd client_;
};

const std::string kNow = "HTTP/1.1 200 OK\r\n\r\nnow \n";

TEST_F(HttpServerTest, AnswersOneRequestAfterTheOther) {
  connect();
  send("GET /now" + kEnd);
  EXPECT_EQ(receive(), kNow);
  send("GET /now" + kEnd + "GET /none" + kEnd + "GET /now" + kEnd);
  EXPECT_EQ(
      receive(),
      kNow + "HTTP/1.1 404 Not Found\r\n\r\nthere is no such path\n" + kNow);
}

TEST_F(HttpServerTest, ARequestMayComeInBytes) {
  connect();
  for (const char byte : "GET /now" + kEnd) send(std::string(1, byte));
  EXPECT_EQ(receive(), kNow);
}

TEST_F(HttpServerTest, RequestsWaitForTheAnswerBeforeThem) {
  connect();
  send("GET /later" + kEnd + "GET /now" + kEnd);
  send("GET /now" + kEnd);
  EXPECT_EQ(receive(), "");
  answer_text(later_.waiting, 200, "at last");
  turn();
  turn();
  EXPECT_EQ(receive(), "HTTP/1.1 200 OK\r\n\r\nat last\n" + kNow + kNow);
  EXPECT_EQ(later_.waiting, nullptr);
}

TEST_F(HttpServerTest, RefusesMethods) {
  connect();
  send("POST /later" + kEnd);
  EXPECT_EQ(receive(),
            "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\n\r\n"
            "this path takes GET\n");
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  connect();
  send("HEAD /now" + kEnd);
  EXPECT_EQ(receive(), "HTTP/1.1 200 OK\r\n\r\n");
}

TEST_F(HttpServerTest, TellsToGoOn) {
  connect();
  send(
      "POST /now HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
      "Content-Length: 2\r\n\r\n");
  EXPECT_EQ(receive(), "HTTP/1.1 100 Continue\r\n\r\n");
  send("ab");
  EXPECT_EQ(receive(), "HTTP/1.1 200 OK\r\n\r\nnow ab\n");
}

TEST_F(HttpServerTest, ClosesIfTheClientWants) {
  connect();
  send("GET /now HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(receive(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nnow \n");
  EXPECT_TRUE(client_sees_the_end());
  client_.reset();
  turn();
  EXPECT_FALSE(connection_);
}

TEST_F(HttpServerTest, KeepsAConnectionOfHttp10IfTheClientWants) {
  connect();
  send("GET /now HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(receive(),
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nnow \n");
  send("GET /now HTTP/1.0\r\n\r\n");
  EXPECT_EQ(receive(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nnow \n");
  EXPECT_TRUE(client_sees_the_end());
}

TEST_F(HttpServerTest, ClosesAfterARequestThatIsMalformed) {
  connect();
  send("GET /now" + kEnd + "nonsense\r\n\r\nGET /now" + kEnd);
  const std::string all = receive();
  EXPECT_TRUE(
      all.starts_with(kNow +
                      "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
                      "the request is malformed: "))
      << all;
  EXPECT_EQ(all.find("now", kNow.size()), all.npos);
  EXPECT_TRUE(client_sees_the_end());
}

TEST_F(HttpServerTest, AnswersAClientThatHasClosedItsSide) {
  connect();
  const std::string bytes = "GET /later" + kEnd;
  ASSERT_GT(write(client_.get(), bytes.data(), bytes.size()), 0);
  shutdown(client_.get(), SHUT_WR);
  turn();
  ASSERT_NE(later_.waiting, nullptr);
  loop_.post([this] { answer_text(later_.waiting, 200, "x"); });
  loop_.run();
  EXPECT_FALSE(connection_);
  EXPECT_EQ(receive(), "HTTP/1.1 200 OK\r\n\r\nx\n");
}

TEST_F(HttpServerTest, ForgetsTheRequestOfAClientThatHasGone) {
  connect();
  send("GET /later" + kEnd);
  ASSERT_NE(later_.waiting, nullptr);
  client_.reset();
  turn();
  EXPECT_FALSE(connection_);
  EXPECT_EQ(later_.waiting, nullptr);
}

TEST_F(HttpServerTest, WaitsForAClientThatDoesNotRead) {
  connect();
  std::string many;
  for (int i = 0; i < 500; ++i) {
    many += "POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" +
            std::string(1000, 'x');
  }
  std::string_view left = many;
  std::string got;
  while (!left.empty()) {
    const ssize_t size = write(client_.get(), left.data(), left.size());
    if (size > 0) left.remove_prefix(static_cast<std::size_t>(size));
    turn();
    if (size <= 0) got += receive();
  }
  for (int i = 0; i < 1000; ++i) {
    turn();
    got += receive();
  }
  std::size_t answers = 0;
  for (std::size_t at = 0; (at = got.find("now xxx", at)) != got.npos; ++at) {
    ++answers;
  }
  EXPECT_EQ(answers, 500u);
}

// Meanwhile others have used up the memory, but this client holds none of it.
TEST_F(HttpServerTest, AClientThatHasReadAllIsNotRefused) {
  const std::string large(4'000'000, 'x');
  server_.handlers()->add("/large", HttpMethods::kGet, [&](Exchange* exchange) {
    answer_text(exchange, 200, large);
  });
  connect();
  send("GET /large" + kEnd);
  ASSERT_TRUE(connection_->is_blocked());
  buffers_.memory.set_most(1000);
  ASSERT_GT(buffers_.memory.used(), 1000u);
  std::string got;
  while (connection_->is_blocked()) {
    got += receive();
    turn();
  }
  got += receive();
  EXPECT_TRUE(got.ends_with("xxx\n")) << got.substr(got.size() - 200);
  send("GET /now" + kEnd);
  EXPECT_EQ(receive(), kNow);
}

TEST_F(HttpServerTest, AHeaderCountsUntilItsAnswer) {
  connect();
  send("GET /later HTTP/1.1\r\nHost: x\r\nX-Field: " +
       std::string(10'000, 'x') + "\r\n");
  EXPECT_GT(buffers_.memory.used(), 10'000u);
  send("\r\n");
  ASSERT_NE(later_.waiting, nullptr);
  EXPECT_GT(buffers_.memory.used(), 10'000u);
  answer_text(later_.waiting, 200, "later");
  turn();
  EXPECT_EQ(buffers_.memory.used(), 0u);
}

TEST_F(HttpServerTest, AClientThatNeverReadsIsGivenUp) {
  settings_.write_timeout = kMillisecond;
  connect();
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "GET /now" + kEnd;
  std::string_view left = many;
  for (int blocked = 0; blocked < 10 && connection_;) {
    const ssize_t size = write(client_.get(), left.data(), left.size());
    blocked = size < 0 ? blocked + 1 : 0;
    if (size > 0) left.remove_prefix(static_cast<std::size_t>(size));
    if (left.empty()) left = many;
    turn();
  }
  if (connection_) loop_.run();
  EXPECT_FALSE(connection_);
}

TEST_F(HttpServerTest, AClientThatSendsWithoutEndIsNotReadForLong) {
  settings_.max_linger_bytes = 1'000'000;
  connect();
  send("bad\r\n\r\n");
  EXPECT_TRUE(receive().starts_with("HTTP/1.1 400 "));
  const std::string more(50'000, 'x');
  std::size_t sent = 0;
  while (connection_ && sent < 100'000'000) {
    const ssize_t size =
        ::send(client_.get(), more.data(), more.size(), MSG_NOSIGNAL);
    if (size > 0) sent += static_cast<std::size_t>(size);
    turn();
  }
  EXPECT_FALSE(connection_);
  EXPECT_GE(sent, 1'000'000u);
  EXPECT_LT(sent, 10'000'000u);
}

TEST_F(HttpServerTest, ASilentClientIsGivenUp) {
  settings_.handshake_timeout = kMillisecond;
  connect();
  loop_.run();
  EXPECT_FALSE(connection_);
  EXPECT_EQ(receive(), "");
}

TEST_F(HttpServerTest, AClientThatStopsInItsFirstBytesIsGivenUp) {
  settings_.handshake_timeout = kMillisecond;
  connect();
  send("PR");
  if (connection_) loop_.run();
  EXPECT_FALSE(connection_);
}

// Bytes that come now and then change nothing.
TEST_F(HttpServerTest, ASlowRequestIsRefused) {
  settings_.request_timeout = 20 * kMillisecond;
  for (const char* const begun :
       {"GET /now", "GET /now HTTP/1.1\r\nX: ",
        "POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n"}) {
    connect();
    send(begun);
    std::string got;
    for (int i = 0; got.empty() && i < 200; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      send("X");
      got = receive();
    }
    EXPECT_EQ(got,
              "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"
              "the request was not complete in time\n")
        << begun;
  }
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosed) {
  settings_.max_idle = kMillisecond;
  connect();
  send("GET /now" + kEnd);
  EXPECT_EQ(receive(), kNow);
  while (!client_sees_the_end()) turn();
  client_.reset();
  turn();
  EXPECT_FALSE(connection_);
}

TEST_F(HttpServerTest, AnOldConnectionIsClosed) {
  settings_.max_age = kMillisecond;
  connect();
  std::string got;
  while (got.find("Connection: close") == got.npos) {
    send("GET /now" + kEnd);
    got = receive();
  }
  EXPECT_TRUE(client_sees_the_end());
}

TEST_F(HttpServerTest, DrainingAnswersOnceMore) {
  connect();
  send("GET /now" + kEnd);
  EXPECT_EQ(receive(), kNow);
  connection_->drain(kOneSecond);
  send("GET /now" + kEnd + "GET /now" + kEnd);
  EXPECT_EQ(receive(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nnow \n");
  EXPECT_TRUE(client_sees_the_end());
}

TEST_F(HttpServerTest, DrainingWaitsForAnAnswer) {
  connect();
  send("GET /later" + kEnd);
  connection_->drain(60 * kOneSecond);
  turn();
  answer_text(later_.waiting, 200, "x");
  turn();
  EXPECT_EQ(receive(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx\n");
}

TEST_F(HttpServerTest, DrainingEndsAfterTheGrace) {
  connect();
  send("GET /later" + kEnd);
  loop_.post([this] { connection_->drain(kMillisecond); });
  loop_.run();
  EXPECT_FALSE(connection_);
  EXPECT_EQ(later_.waiting, nullptr);
}

TEST_F(HttpServerTest, DrainingClosesAnIdleConnection) {
  connect();
  send("GET /now" + kEnd);
  EXPECT_EQ(receive(), kNow);
  loop_.post([this] { connection_->drain(60 * kOneSecond); });
  client_.reset();
  loop_.run();
  EXPECT_FALSE(connection_);
}

// nghttp2 reads what follows; the tests with clients go on from here.
TEST_F(HttpServerTest, SpeaksHttp2) {
  connect();
  send("PR");
  EXPECT_EQ(receive(), "");
  send("I * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9));
  const std::string settings = receive();
  ASSERT_GE(settings.size(), 9u);
  EXPECT_EQ(settings[3], '\4');
  client_.reset();
  turn();
  EXPECT_FALSE(connection_);
}

// It may come while the server ends, and should go elsewhere, too.
TEST_F(HttpServerTest, DrainingTellsAClientOfHttp2) {
  connect();
  connection_->drain(60 * kOneSecond);
  send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
       std::string("\0\0\0\4\0\0\0\0\0", 9));
  const std::string goaway("\0\0\x8\7\0\0\0\0\0", 9);
  EXPECT_NE(receive().find(goaway), std::string::npos);
}

}  // namespace
}  // namespace limitree::server
