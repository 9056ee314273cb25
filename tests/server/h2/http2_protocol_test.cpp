#include "h2/http2_protocol.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <ctime>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "io/trouble.hpp"

namespace limitree::server {
namespace {

using namespace std::string_literals;

// Types and flags of frames.
enum Type { kData, kHeaders, kReset = 3, kSettings, kPing = 6, kGoaway };
constexpr int kAck = 1;
constexpr int kEndStream = 1;
constexpr int kEndHeaders = 4;

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes));
  return text;
}

std::string frame(int type, int flags, std::uint32_t stream,
                  const std::string& payload) {
  return number(payload.size(), 3) + static_cast<char>(type) +
         static_cast<char>(flags) + number(stream, 4) + payload;
}

// POST / over http, by the static table of HPACK.
std::string post(std::uint32_t stream, bool ends = true) {
  return frame(kHeaders, kEndHeaders | (ends ? kEndStream : 0), stream,
               "\x83\x86\x84\x41\x01x"s);
}

std::string ping(const std::string& content, int flags = 0) {
  return frame(kPing, flags, 0, content);
}

// SETTINGS, with the window of each stream.
std::string begin(std::uint32_t window = 65'535) {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
         frame(kSettings, 0, 0, number(4, 2) + number(window, 4));
}

struct Frame {
  int type;
  int flags;
  std::uint32_t stream;
  std::string payload;

  std::uint32_t word(std::size_t at) const {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(payload.at(i));
    }
    return value;
  }
};

std::vector<Frame> frames_of(std::string_view bytes) {
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  std::vector<Frame> frames;
  while (bytes.size() >= 9) {
    const std::size_t size = at(0) << 16 | at(1) << 8 | at(2);
    if (bytes.size() < 9 + size) break;
    frames.push_back({static_cast<int>(at(3)), static_cast<int>(at(4)),
                      at(5) << 24 | at(6) << 16 | at(7) << 8 | at(8),
                      std::string(bytes.substr(9, size))});
    bytes.remove_prefix(9 + size);
  }
  return frames;
}

// What happened to a stream, for the test.
struct Seen {
  int requests = 0;
  int fields = 0;
  int late = 0;
  int closed = 0;
  bool too_slow = false;
};

// Answers each request with some bytes and trailers.
class Answering final : public Stream {
 public:
  Answering(std::size_t size, Seen* seen) : size_(size), seen_(seen) {}

  void on_field(std::string_view, std::string_view) override {
    ++seen_->fields;
  }
  void on_request() override {
    ++seen_->requests;
    seen_->too_slow = reads_too_slowly();
    if (size_ == 0) return;
    static constexpr Field kOk[] = {{":status", "200"}};
    respond(kOk);
    body().assign(size_, 'x');
    end_body();
  }
  void on_data(std::string_view bytes) override { consumed(bytes.size()); }
  void on_end() override {}
  void on_late() override { ++seen_->late; }
  void on_shutdown() override {}
  void on_body_sent() override {
    static constexpr Field kTrailers[] = {{"grpc-status", "0"}};
    if (has_ended_body()) send_trailers(kTrailers);
  }
  void on_close() override { ++seen_->closed; }

 private:
  std::size_t size_;
  Seen* seen_;
};

// A server with one connection, and its client.
class Http2 : public testing::Test, public Application, public ConnectionOwner {
 protected:
  void connect(int send_buffer = 0) {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    client_ = Fd(fds[1]);
    if (send_buffer != 0) {
      setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(int));
    }
    connection_ = std::make_unique<Connection>(
        ConnectionContext{&loop_, &settings_, buffers_.get(), this},
        std::make_unique<PlainTransport>(Fd(fds[0])), Permit(),
        [this](Connection* connection) {
          return std::make_unique<Http2Protocol>(connection, this);
        });
  }

  void send(const std::string& bytes) {
    ASSERT_EQ(write(client_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  // Runs the loop until the fact is true.  The client reads meanwhile.
  void run_until(const std::function<bool()>& fact) {
    const Monotonic end = after(steady_now(), 60 * kOneSecond);
    bool is_so = false;
    Timer look(&loop_, [&] {
      if (reads_) take();
      is_so = fact();
      if (is_so || steady_now() > end) return loop_.stop();
      look_->set(after(steady_now(), kMillisecond));
    });
    look_ = &look;
    look.set({});
    loop_.run();
    ASSERT_TRUE(is_so);
  }

  void take() {
    char block[65536];
    for (ssize_t size; (size = read(client_.get(), block, sizeof block)) > 0;) {
      got_.append(block, static_cast<std::size_t>(size));
    }
  }

  // Frames of that type that have come, of one stream if it is not 0.
  std::vector<Frame> frames(int type, std::uint32_t stream = 0) const {
    std::vector<Frame> found;
    for (Frame& one : frames_of(got_)) {
      const bool is_it = stream == 0 || one.stream == stream;
      if (one.type == type && is_it) found.push_back(std::move(one));
    }
    return found;
  }
  auto has_come(int type, std::uint32_t stream = 0, std::size_t count = 1) {
    return [=, this] { return frames(type, stream).size() >= count; };
  }

  Stream* open() override {
    if (no_memory_) throw std::bad_alloc();
    if (has_bug_) throw std::length_error("bug");
    return new Answering(answer_size_, &seen_);
  }
  void release(Stream* stream) override { delete stream; }
  void closed(Connection* /*connection*/) override { connection_.reset(); }
  bool is_closed() const { return connection_ == nullptr; }

  ConnectionSettings settings_;
  std::size_t answer_size_ = 10;  // 0: requests are never answered
  bool no_memory_ = false;
  bool has_bug_ = false;
  bool reads_ = true;
  Seen seen_;
  Loop loop_;
  std::unique_ptr<IoBuffers> buffers_ = std::make_unique<IoBuffers>();
  Fd client_;
  std::string got_;
  Timer* look_ = nullptr;
  std::unique_ptr<Connection> connection_;
};

TEST_F(Http2, AnswersWithTrailers) {
  connect();
  send(begin() + post(1));
  run_until(has_come(kHeaders, 1, 2));
  EXPECT_EQ(frames(kData, 1).at(0).payload, "xxxxxxxxxx");
  EXPECT_EQ(frames(kHeaders, 1).at(1).flags, kEndStream | kEndHeaders);
  run_until([&] { return seen_.closed == 1; });
  EXPECT_TRUE(frames(kReset).empty());
}

TEST_F(Http2, ARequestThatIsAnsweredNeedNotEnd) {
  connect();
  send(begin() + post(1, false));
  run_until(has_come(kReset, 1));
  EXPECT_EQ(frames(kReset).at(0).word(0), 0u);          // NO_ERROR
  EXPECT_EQ(frames(kHeaders, 1).size(), 2u);            // the trailers, too
  EXPECT_EQ(frames_of(got_).back().type, int{kReset});  // before it
}

TEST_F(Http2, AClientThatResetsIsNotAnswered) {
  answer_size_ = 0;
  connect();
  send(begin() + post(1) + frame(kReset, 0, 1, number(8, 4)));
  run_until([&] { return seen_.closed == 1; });
  EXPECT_TRUE(frames(kHeaders).empty());
}

TEST_F(Http2, AClientThatSaysNothingIsClosed) {
  settings_.handshake_timeout = 20 * kMillisecond;
  connect();
  send(begin().substr(0, 20));
  run_until([&] { return is_closed(); });
}

TEST_F(Http2, ASilentClientIsAskedForASignOfLife) {
  settings_.keepalive_time = 20 * kMillisecond;
  settings_.keepalive_timeout = 3600 * kOneSecond;
  connect();
  send(begin());
  run_until(has_come(kPing));
  send(ping(frames(kPing).at(0).payload, kAck));
  run_until(has_come(kPing, 0, 2));
  EXPECT_FALSE(is_closed());
}

TEST_F(Http2, ASilentClientWithoutASignOfLifeIsClosed) {
  settings_.keepalive_time = settings_.keepalive_timeout = 20 * kMillisecond;
  connect();
  send(begin());
  run_until([&] { return is_closed(); });
  EXPECT_EQ(frames(kPing).size(), 1u);
}

TEST_F(Http2, ARequestMustBeCompleteInTime) {
  settings_.request_timeout = 20 * kMillisecond;
  answer_size_ = 0;
  connect();
  send(begin() + post(1, false) + post(3));
  run_until([&] { return seen_.late > 0; });
  const Monotonic then = loop_.now();
  run_until([&] { return loop_.now() > then + 50 * kMillisecond; });
  EXPECT_EQ(seen_.late, 1);  // only that one, and once
}

TEST_F(Http2, AnAnswerMustBeReadInTime) {
  settings_.write_timeout = 20 * kMillisecond;
  connect();
  send(begin(0) + post(1));
  run_until(has_come(kReset, 1));
  EXPECT_EQ(frames(kReset).at(0).word(0), 8u);  // CANCEL
  EXPECT_TRUE(frames(kData).empty());
  run_until([&] { return seen_.closed == 1; });
  // The connection goes on.
  send(ping("12345678"));
  run_until(has_come(kPing));
}

TEST_F(Http2, ACallThatWaitsIsNoAnswerThatIsNotRead) {
  settings_.write_timeout = 5 * kMillisecond;
  answer_size_ = 0;
  connect();
  send(begin() + post(1));
  run_until([&] { return seen_.requests == 1; });
  const Monotonic start = loop_.now();
  run_until([&] { return loop_.now() > start + 100 * kMillisecond; });
  EXPECT_EQ(seen_.closed, 0);
}

TEST_F(Http2, AClientThatTakesNoBytesIsClosed) {
  settings_.write_timeout = 20 * kMillisecond;
  answer_size_ = 1'000'000;
  reads_ = false;
  connect(4096);
  send(begin(0x7fffffff) +
       frame(8, 0, 0, number(0x7fff0000 - 65'535, 4)) +  // WINDOW_UPDATE
       post(1));
  run_until([&] { return is_closed(); });
  EXPECT_EQ(seen_.closed, 1);
}

TEST_F(Http2, UnreadAnswersOfAllStreamsCountTogether) {
  answer_size_ = 400 * 1024;
  connect();
  send(begin(0));
  for (std::uint32_t stream = 1; stream <= 5; stream += 2) send(post(stream));
  run_until([&] { return seen_.requests == 3; });
  EXPECT_FALSE(seen_.too_slow);
  send(post(7));
  run_until([&] { return seen_.requests == 4; });
  EXPECT_TRUE(seen_.too_slow);
  // What the client gives up counts no longer.
  for (std::uint32_t stream = 1; stream <= 7; stream += 2) {
    send(frame(kReset, 0, stream, number(8, 4)));
  }
  send(post(9));
  run_until([&] { return seen_.requests == 5; });
  EXPECT_FALSE(seen_.too_slow);
}

TEST_F(Http2, StreamsEndWhenTheirTimeIsOver) {
  settings_.request_timeout = settings_.write_timeout = kOneSecond;
  answer_size_ = 0;
  connect();
  const Monotonic start = loop_.now();
  send(begin() + post(1, false));
  run_until([&] { return loop_.now() >= start + 525 * kMillisecond; });
  const Monotonic second = loop_.now();
  send(post(3, false));
  run_until([&] { return seen_.late >= 1; });
  EXPECT_GE(loop_.now() - start, kOneSecond);
  run_until([&] { return seen_.late == 2; });
  EXPECT_GE(loop_.now() - second, kOneSecond);
}

TEST_F(Http2, AClientThatHoldsTooMuchGetsNoMore) {
  answer_size_ = 60'000;
  connect();
  buffers_->memory.set_most(100'000);
  send(begin(0) + post(1) + post(3));
  run_until([&] { return seen_.requests == 2; });
  EXPECT_FALSE(seen_.too_slow);
  EXPECT_GT(buffers_->memory.used(), 120'000u);
  send(post(5));
  run_until(has_come(kReset, 5));
  EXPECT_EQ(frames(kReset).at(0).word(0), 7u);  // REFUSED_STREAM
  EXPECT_EQ(frames(kReset).size(), 1u);
  EXPECT_EQ(seen_.requests, 2);
  send(frame(kReset, 0, 1, number(8, 4)) + post(7));
  run_until([&] { return seen_.requests == 3; });
  connection_.reset();
  EXPECT_EQ(buffers_->memory.used(), 0u);
}

// Two fields are then in the table of HPACK, where a byte stands for each.
constexpr char kReference = '\xbe';
constexpr char kAuthority = '\xbf';

std::string with_large_field(std::uint32_t stream) {
  const std::string field = "\x40\x01x\x7f\xbd\x1d"s + std::string(3900, 'a');
  return frame(kHeaders, kEndHeaders | kEndStream, stream,
               "\x83\x86\x84\x41\x01x"s + field);
}

std::string with_references(std::uint32_t stream, std::size_t count,
                            bool ends = true) {
  return frame(kHeaders, kEndHeaders | (ends ? kEndStream : 0), stream,
               "\x83\x86\x84"s + kAuthority + std::string(count, kReference));
}

TEST_F(Http2, AHeaderThatIsTooLargeEndsTheStream) {
  connect();
  send(begin() + with_large_field(1) + with_references(3, 16'000));
  run_until(has_come(kReset, 3));
  EXPECT_EQ(frames(kReset).size(), 1u);
  EXPECT_EQ(frames(kReset).at(0).word(0), 11u);  // ENHANCE_YOUR_CALM
  EXPECT_LT(seen_.fields, 20);
  EXPECT_EQ(seen_.requests, 1);
  // The tables of HPACK still agree.
  send(with_references(5, 2));
  run_until([&] { return seen_.requests == 2; });
  EXPECT_TRUE(frames(kGoaway).empty());
}

TEST_F(Http2, WhatFollowsABodyCountsAsTheHeader) {
  answer_size_ = 0;
  connect();
  send(begin() + with_large_field(1) + with_references(3, 0, false));
  run_until([&] { return seen_.requests == 2; });
  const int fields = seen_.fields;
  send(frame(kHeaders, kEndHeaders | kEndStream, 3,
             std::string(16'000, kReference)));
  run_until(has_come(kReset, 3));
  EXPECT_EQ(frames(kReset, 3).at(0).word(0), 11u);
  EXPECT_EQ(seen_.fields, fields);
}

// 16 ms each if all fields were looked at.
TEST_F(Http2, HeadersThatAreTooLargeTakeLittleTime) {
  connect();
  send(begin() + with_large_field(1));
  run_until([&] { return seen_.requests == 1; });
  const std::clock_t begun = std::clock();
  for (std::uint32_t stream = 3; stream < 203; stream += 2) {
    send(with_references(stream, 16'000));
    run_until(has_come(kReset, stream));
  }
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 0.8);
}

TEST_F(Http2, AFloodOfHeadersThatAreTooLargeEndsTheConnection) {
  connect();
  send(begin() + with_large_field(1));
  run_until([&] { return seen_.requests == 1; });
  std::uint32_t stream = 3;
  run_until([&] {
    if (!frames(kGoaway).empty()) return true;
    std::string many;
    for (int i = 0; i < 500; ++i, stream += 2) {
      many += with_references(stream, 6);
    }
    got_.clear();
    send(many);
    return false;
  });
  EXPECT_EQ(frames(kGoaway).at(0).word(4), 11u);
  EXPECT_LT(stream, 50'000u);
}

TEST_F(Http2, AFloodOfUnknownFramesEndsTheConnection) {
  for (const int type : {10, 12, 16, 77, 255}) {
    got_.clear();
    connect();
    send(begin());
    const std::string unknown = frame(type, 0, 0, "x");
    std::string many;
    for (int i = 0; i < 1000; ++i) many += unknown;
    for (int i = 0; i < 9; ++i) {
      send(many);
      run_until([] { return true; });
    }
    EXPECT_TRUE(frames(kGoaway).empty()) << type;
    int sent = 0;
    run_until([&] {
      if (!frames(kGoaway).empty()) return true;
      if (++sent < 20) send(many);
      return false;
    });
    EXPECT_EQ(frames(kGoaway).at(0).word(4), 11u) << type;
  }
}

// 160 MB would be read if each counted once.
TEST_F(Http2, LargeFramesThatBringNothingCountForMore) {
  connect();
  send(begin());
  const std::string unknown = frame(77, 0, 0, std::string(16'000, 'x'));
  std::size_t sent = 0;
  run_until([&] {
    if (!frames(kGoaway).empty()) return true;
    for (int i = 0; i < 4; ++i, ++sent) send(unknown);
    return false;
  });
  EXPECT_EQ(frames(kGoaway).at(0).word(4), 11u);
  EXPECT_GT(sent, 500u);
  EXPECT_LT(sent, 2000u);
}

// Frames that are wrong end the connection, whose client gets time to read why.
TEST_F(Http2, AClientThatSendsWithoutEndIsNotReadForLong) {
  settings_.max_linger_bytes = 1'000'000;
  connect();
  send(begin() + frame(kSettings, 0, 1, ""));
  run_until(has_come(kGoaway));
  const std::string more(50'000, 'x');
  std::size_t sent = 0;
  run_until([&] {
    if (is_closed()) return true;
    for (ssize_t size; (size = ::send(client_.get(), more.data(), more.size(),
                                      MSG_NOSIGNAL)) > 0;) {
      sent += static_cast<std::size_t>(size);
      if (size < static_cast<ssize_t>(more.size())) break;
    }
    return false;
  });
  EXPECT_GE(sent, 1'000'000u);
  EXPECT_LT(sent, 10'000'000u);
}

TEST_F(Http2, ADrainWaitsUntilTheClientKnows) {
  connect();
  send(begin());
  run_until(has_come(kSettings));
  connection_->drain(3600 * kOneSecond);
  run_until(has_come(kPing));
  EXPECT_EQ(frames(kGoaway).at(0).word(0), 0x7fffffffu);
  const std::string notice = frames(kPing).at(0).payload;
  // Another answer does not tell that, and a request is still answered.
  send(ping("12345678", kAck) + post(1));
  run_until(has_come(kHeaders, 1, 2));
  EXPECT_EQ(frames(kGoaway).size(), 1u);
  send(ping(notice, kAck) + post(3));
  run_until(has_come(kGoaway, 0, 2));
  // The client would ask elsewhere what comes after the stream named here.
  EXPECT_EQ(frames(kGoaway).at(1).word(0), 3u);
  EXPECT_EQ(frames(kGoaway).at(1).word(4), 0u);  // NO_ERROR
  send(post(5));
  run_until([&] { return seen_.closed == 2; });
  client_.reset();
  run_until([&] { return is_closed(); });
  EXPECT_EQ(seen_.requests, 2);
}

TEST_F(Http2, ADrainEndsWithItsGrace) {
  answer_size_ = 0;
  connect();
  send(begin() + post(1));
  run_until([&] { return seen_.requests == 1; });
  connection_->drain(20 * kMillisecond);
  run_until([&] { return is_closed(); });
  EXPECT_EQ(seen_.closed, 1);
}

TEST_F(Http2, WithoutMemoryTheConnectionEnds) {
  no_memory_ = true;
  connect();
  send(begin() + post(1));
  run_until(has_come(kGoaway));
  EXPECT_EQ(frames(kGoaway).at(0).word(4), 2u);  // INTERNAL_ERROR
}

TEST_F(Http2, AnExceptionEndsTheConnectionAndIsTold) {
  static std::string told;
  listen_to_trouble([](std::string_view what, std::string_view why) {
    told.append(what).append(": ").append(why);
  });
  has_bug_ = true;
  connect();
  send(begin() + post(1));
  run_until(has_come(kGoaway));
  listen_to_trouble(nullptr);
  EXPECT_EQ(frames(kGoaway).at(0).word(4), 2u);  // INTERNAL_ERROR
  EXPECT_EQ(told, "some work is lost: bug");
}

TEST_F(Http2, AConnectionMayEndInTheMiddleOfARequest) {
  answer_size_ = 0;
  connect();
  send(begin() + post(1));
  run_until([&] { return seen_.requests == 1; });
  connection_.reset();
  EXPECT_EQ(seen_.closed, 1);
}

}  // namespace
}  // namespace limitree::server
