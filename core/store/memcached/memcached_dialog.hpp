// The protocol of memcached on one connection.
//
// A command has one line or more, and each of them gets a response, in order.
// After a line that the server did not understand nobody knows which response
// is whose: then the connection ends.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/memcached/reader.hpp"
#include "store/memcached/url.hpp"
#include "store/remote/wire/dialog.hpp"

namespace limitree::memcached {

// The reply to a command: a response to each of its lines.
using Responses = std::vector<Response>;

// REQUIRES: it was answered by memcached.
inline Responses& responses_of(const remote::Outcome& outcome) {
  return *static_cast<Responses*>(outcome.reply.get());
}

class MemcachedDialog final : public remote::Dialog {
 public:
  // `url` must outlive it.
  explicit MemcachedDialog(const Url& url) : url_(url) {}

  bool greet(std::string* out) override;
  void push(remote::Command* command, bool asking) override;
  bool abandon(const remote::Command* command) override;
  remote::Outbox* outbox() override { return &outbox_; }
  bool has_sent() override;
  void fail(remote::Failure failure, std::string_view detail) noexcept override;
  std::size_t in_flight() const override { return due_.size(); }
  std::size_t unsent() const override { return outbox_.size(); }
  void feed(std::string_view bytes) override { reader_.feed(bytes); }
  Event next() override;

 private:
  // A command whose reply is due.
  struct Due {
    remote::Command* command;  // null: nobody waits for it
    std::uint64_t begin;       // where its bytes lie in the outbox
    std::uint64_t end;
    std::size_t replies;
  };

  Event greeted(const Response& response);
  bool is_asked_for(const Response& response) const;
  std::uint64_t sent_for(const Response& response) const;
  bool is_whole() const {
    return responses_ != nullptr && !due_.empty() &&
           responses_->size() == due_.front().replies;
  }
  Event answer();

  const Url& url_;
  bool logging_in_ = false;
  Reader reader_;
  remote::Outbox outbox_;
  std::deque<Due> due_;
  std::uint64_t gone_ = 0;                // before due_[0]
  std::unique_ptr<Responses> responses_;  // so far, of due_[0]
};

class MemcachedProtocol final : public remote::Protocol {
 public:
  // `url` must outlive it.
  explicit MemcachedProtocol(const Url& url) : url_(url) {}

  std::unique_ptr<remote::Dialog> new_dialog() const override {
    return std::make_unique<MemcachedDialog>(url_);
  }

 private:
  const Url& url_;
};

}  // namespace limitree::memcached
