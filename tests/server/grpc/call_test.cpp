#include "grpc/call.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "h2/client_connection.hpp"
#include "h2/http2_protocol.hpp"
#include "io/loop.hpp"

namespace limitree::server {
namespace {

const Method kEcho{MethodKind::kUnary,
                   [](Call* call, std::string_view message) {
                     call->begin_message()->append(message);
                     call->end_message();
                     call->finish();
                   }};

// A server with one connection, and a client with one call.
class CallTest : public testing::Test,
                 public ConnectionOwner,
                 public ClientListener {
 protected:
  void call() {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    connection_ = std::make_unique<Connection>(
        ConnectionContext{&loop_, &settings_, &buffers_, this},
        std::make_unique<PlainTransport>(Fd(fds[0])), Permit(),
        [this](Connection* connection) {
          return std::make_unique<Http2Protocol>(connection, &grpc_);
        });
    client_.emplace(&loop_, std::make_unique<PlainTransport>(Fd(fds[1])),
                    std::vector<std::pair<std::string, std::string>>{
                        {":method", "POST"},
                        {":scheme", "http"},
                        {":path", "/echo"},
                        {":authority", "x"},
                        {"content-type", "application/grpc"}},
                    this);
  }
  void run() {
    Timer end(&loop_, [this] { loop_.stop(); });
    end.set(after(steady_now(), 30 * kOneSecond));
    loop_.run();
    EXPECT_TRUE(ended_);
  }

  void closed(Connection* /*connection*/) override { connection_.reset(); }
  void on_field(std::string_view name, std::string_view value) override {
    fields_[std::string(name)] = value;
  }
  void on_data(std::string_view bytes) override { data_ += bytes; }
  void on_end(const std::string& /*why*/) override {
    ended_ = true;
    loop_.stop();
  }

  Loop loop_;
  ConnectionSettings settings_;
  IoBuffers buffers_;
  MethodTable methods_{1000};
  GrpcServer grpc_{&methods_, &loop_, nullptr};
  std::unique_ptr<Connection> connection_;
  std::optional<ClientConnection> client_;
  std::map<std::string, std::string> fields_;
  std::string data_;
  bool ended_ = false;
};

const std::string kFrame("\0\0\0\0\2ab", 7);

TEST_F(CallTest, IsAnswered) {
  methods_.add("/echo", kEcho);
  call();
  client_->send(kFrame);
  run();
  EXPECT_EQ(fields_["grpc-status"], "0");
  EXPECT_EQ(data_, kFrame);
}

TEST_F(CallTest, FailsWhenItsMessageIsLate) {
  settings_.request_timeout = 50 * kMillisecond;
  methods_.add("/echo", kEcho);
  call();
  client_->send(kFrame.substr(0, 6));
  run();
  EXPECT_EQ(fields_["grpc-status"], "4");
  EXPECT_EQ(fields_["grpc-message"], "the request was not complete in time");
  EXPECT_EQ(data_, "");
}

}  // namespace
}  // namespace limitree::server
