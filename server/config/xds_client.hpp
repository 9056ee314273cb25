// Asks a server for descriptors and keeps listening: xDS, state of the world,
// on an aggregated stream.

#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "config/files.hpp"
#include "config/settings.hpp"
#include "config/xds_messages.hpp"
#include "grpc/framing.hpp"
#include "h2/client_connection.hpp"
#include "io/dialer.hpp"
#include "io/loop.hpp"
#include "io/tls_client_context.hpp"
#include "io/tls_files.hpp"

namespace limitree::server {

class XdsListener {
 public:
  // Loads all descriptors.  Returns what is wrong with them, or nothing.
  virtual std::string take(std::vector<SourceFile> files) = 0;
  // The server has sent something that is not a configuration.
  virtual void refuse(const std::string& why) = 0;
  // The connection is lost, or could not be made; it will be made again.
  virtual void lost(const std::string& why) = 0;

 protected:
  ~XdsListener() = default;
};

class XdsClient final : public ClientListener, private Watcher {
 public:
  // Throws Failure if `settings` are not valid.
  XdsClient(Loop* loop, const XdsSettings* settings, XdsListener* listener);
  ~XdsClient();
  XdsClient(const XdsClient&) = delete;
  XdsClient& operator=(const XdsClient&) = delete;

  void on_field(std::string_view name, std::string_view value) override;
  void on_data(std::string_view bytes) override;
  void on_end(const std::string& why) override;

 private:
  void connect();
  void dial();
  void stop_dialing();
  void on_ready(std::uint32_t events) override;
  void open_stream(Fd fd);
  std::unique_ptr<Transport> transport_over(Fd fd);
  void answer(std::string_view message);
  void answer(XdsResponse response);
  void send(const XdsRequest& request);
  void wait(const std::string& why);
  Duration next_wait(std::size_t attempt);

  Loop* loop_;
  const XdsSettings& settings_;
  XdsListener* listener_;
  std::optional<TlsFiles<TlsClientContext>> tls_;
  const Endpoint endpoint_;
  std::optional<Dialer> dialer_;  // until there is a connection
  int watched_ = -1;              // the dialer's descriptor
  Timer connect_;
  Timer give_up_;  // an attempt that takes too long
  std::unique_ptr<ClientConnection> connection_;
  FrameReader frames_;
  std::string status_;   // grpc-status and
  std::string message_;  // grpc-message of this stream
  std::string loaded_;   // the version
  // If a server keeps sending a version that was refused, the answers are
  // delayed for longer and longer.
  std::string refused_;       // the version, if refusals_ > 0
  std::size_t refusals_ = 0;  // of it, in a row
  std::string kept_;          // the message that look_again_ is for
  Timer look_again_;
  std::size_t attempts_ = 0;  // since an answer has come
  // Connections since then.  An address may take connections and not serve, so
  // each attempt after one begins with the next address.
  std::size_t connections_ = 0;
  bool too_large_ = false;
  std::minstd_rand random_{std::random_device{}()};
};

// The wait before attempt number `attempt`, from 1, with `chance` from -1 to 1.
Duration wait_before(const XdsSettings& settings, std::size_t attempt,
                     double chance);

}  // namespace limitree::server
