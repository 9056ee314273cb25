// The callbacks of nghttp2 for a connection.

#ifndef LIMITREE_SERVER_H2_SESSION_HPP
#define LIMITREE_SERVER_H2_SESSION_HPP

#include "h2/connection.hpp"

namespace limitree::server {

class Session {
 public:
  // Makes the session of `connection`, with the server's settings ready to be
  // sent.
  static void make(Connection* connection);

  // Each is one callback: 0, or an error of nghttp2.
  static int on_begin(Connection* connection, std::int32_t id);
  // Of the header of a request, or of what follows its body.
  static int on_field(Connection* connection, std::int32_t id, bool is_header,
                      std::string_view name, std::string_view value);
  static int on_headers(Connection* connection, std::int32_t id, bool ends);
  static int on_data(Connection* connection, std::int32_t id,
                     std::string_view bytes);
  static int on_end(Connection* connection, std::int32_t id);
  static int on_close(Connection* connection, std::int32_t id);
  static int on_frame(Connection* connection, std::uint8_t type,
                      std::size_t size);
  // The server has reset a stream.
  static int on_reset(Connection* connection, std::uint32_t error);
  static int on_settings(Connection* connection);
  // The answer to a ping with that content.
  static int on_pong(Connection* connection, std::string_view content);

  // Nothing if the stream has ended.
  static Stream* find(Connection* connection, std::int32_t id);
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_H2_SESSION_HPP
