// The bytes of one connection, encrypted or not.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "io/fd.hpp"

namespace limitree {

// How an attempt to read or write ended.
enum class Io {
  kDone,    // some bytes
  kAgain,   // when the socket is ready, see Transport::events()
  kClosed,  // the other side has closed, or the connection is broken
};

struct IoResult {
  Io outcome;
  std::size_t size = 0;  // for kDone
};

// Does not block, whatever the mode of the socket.
class Transport {
 public:
  static constexpr std::size_t kMaxHeld = std::size_t{16} << 10U;
  static constexpr std::string_view kTlsTrouble = "TLS: ";

  virtual ~Transport() = default;

  virtual IoResult read(std::span<char> buffer) = 0;
  // May write less than all.  If it says kAgain and needs() EPOLLOUT, the next
  // write must begin with the same bytes, up to kMaxHeld of them.  If it says
  // kClosed, what the other side said before that can still be read.
  virtual IoResult write(std::string_view bytes) = 0;
  // Whether the handshake is over, if there is one; reading carries it on.
  virtual bool established() const { return true; }
  // Whether read() has bytes that the socket no longer has.
  virtual bool has_buffered() const = 0;
  // Whether the last call waits for the other direction of the socket, as a
  // handshake does: EPOLLIN, EPOLLOUT or 0, as in Poller.
  virtual std::uint32_t needs() const = 0;
  // Tells the other side that no more bytes come.
  virtual void shut_down() = 0;
  virtual int fd() const = 0;
  // Why the last call has failed, if more is known than that the connection is
  // closed.  It begins with kTlsTrouble if TLS is to blame.
  virtual std::string trouble() const { return {}; }
};

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Fd fd) : fd_(std::move(fd)) {}

  IoResult read(std::span<char> buffer) override;
  IoResult write(std::string_view bytes) override;
  bool has_buffered() const override { return false; }
  std::uint32_t needs() const override { return 0; }
  void shut_down() override;
  int fd() const override { return fd_.get(); }
  std::string trouble() const override;

 private:
  IoResult result_of(ssize_t size);

  Fd fd_;
  int error_ = 0;  // that ended the connection
};

}  // namespace limitree
