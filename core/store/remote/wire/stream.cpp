#include "store/remote/wire/stream.hpp"

#include <utility>

#include "io/poller.hpp"

namespace limitree::remote {

Stream::Stream(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)) {
  if (!established() && transport_->write({}).outcome == Io::kClosed) fail();
}

bool Stream::wants_write() const {
  return !held_.empty() || transport_->needs() == Poller::kWrite;
}

bool Stream::send(Outbox* box) {
  return !failed() && send_from(&held_) && send_from(box);
}

bool Stream::send_from(Outbox* box) {
  while (!box->empty()) {
    const IoResult put = transport_->write(box->view());
    if (put.outcome != Io::kDone) {
      if (put.outcome == Io::kClosed) fail();
      if (put.outcome == Io::kAgain && box != &held_ && wants_write()) {
        const std::string_view text =
            box->view().substr(0, Transport::kMaxHeld);
        held_.tail()->append(text);
        box->remove_front(text.size());
      }
      return false;
    }
    box->remove_front(put.size);
  }
  return true;
}

std::size_t Stream::receive(char* bytes, std::size_t size) {
  std::size_t filled = 0;
  do {
    const IoResult got = transport_->read({bytes + filled, size - filled});
    if (got.outcome == Io::kClosed) fail();
    if (got.outcome != Io::kDone) break;
    filled += got.size;
  } while (filled < size && transport_->has_buffered());
  return filled;
}

void Stream::fail() {
  detail_ = transport_->trouble();
  if (detail_.starts_with(Transport::kTlsTrouble)) {
    failure_ = Failure::kTls;
    if (detail_.ends_with(": wrong version number")) {
      detail_ += " (does the server speak TLS?)";
    }
    return;
  }
  failure_ = Failure::kLost;
  if (detail_.empty()) detail_ = "closed by the server";
  if (!established()) detail_ += " in the TLS handshake";
}

}  // namespace limitree::remote
