// An HTTP/2 connection that the service makes, with one stream that both sides
// write to.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/loop.hpp"
#include "io/transport.hpp"

struct nghttp2_session;

namespace limitree::server {

class ClientListener {
 public:
  // A header field of the response, or of its trailers.
  virtual void on_field(std::string_view name, std::string_view value) = 0;
  virtual void on_data(std::string_view bytes) = 0;
  // The stream, or the connection, has ended; `why` is empty if the server
  // ended it.  Nothing else is called, and the connection may be destroyed.
  virtual void on_end(const std::string& why) = 0;

 protected:
  ~ClientListener() = default;
};

class ClientConnection final : public Watcher, public AtTurnEnd {
 public:
  // `transport` may still be connecting.  `fields` are those of the request,
  // the pseudo fields first.
  ClientConnection(
      Loop* loop, std::unique_ptr<Transport> transport,
      const std::vector<std::pair<std::string, std::string>>& fields,
      ClientListener* listener);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Whether the server has sent anything.
  bool has_heard() const { return heard_; }

  // Sends bytes of the request's body, soon.
  void send(std::string_view bytes);

  void on_ready(std::uint32_t events) override;
  void on_turn_end() override;

 private:
  // The callbacks of nghttp2.
  struct Callbacks;

  void receive();
  void write_out();
  std::size_t take(std::uint8_t* to, std::size_t room);
  void end(const std::string& why);
  std::string why_closed() const;

  Loop* loop_;
  std::unique_ptr<Transport> transport_;
  ClientListener* listener_;
  nghttp2_session* session_ = nullptr;
  std::int32_t stream_ = 0;
  std::string body_;       // not yet sent
  std::string out_;        // written in part
  bool deferred_ = false;  // the session waits for more of the body
  bool heard_ = false;
  bool ended_ = false;  // end() will tell, at the end of the turn
  std::string why_;
};

}  // namespace limitree::server
