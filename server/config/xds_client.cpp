#include "config/xds_client.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "config/options.hpp"
#include "io/address.hpp"
#include "io/failure.hpp"
#include "io/secret_file.hpp"
#include "io/tls_stream.hpp"
#include "io/trouble.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr const char* kPath =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
    "StreamAggregatedResources";
constexpr Duration kConnectTimeout = 10 * kOneSecond;
// Without a wait, a server that is down would be asked all the time.
constexpr Duration kShortestWait = kMillisecond;

// A server whose machine is gone does not close the connection.  So the system
// sends probes after a minute of silence, and gives up after half a minute
// without an answer.
void keep_alive(const Fd& fd) {
  const std::pair<int, int> settings[] = {
      {TCP_KEEPIDLE, 60}, {TCP_KEEPINTVL, 10}, {TCP_KEEPCNT, 3}};
  for (const auto& [option, value] : settings) {
    setsockopt(fd.get(), IPPROTO_TCP, option, &value, sizeof value);
  }
}

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

HeaderFields fields_of(const XdsSettings& settings) {
  HeaderFields fields = {{":method", "POST"},
                         {":scheme", settings.tls.on ? "https" : "http"},
                         {":path", kPath},
                         {":authority", settings.server},
                         {"content-type", "application/grpc"},
                         {"te", "trailers"},
                         {"user-agent", "limitree"}};
  Pairs own = settings.headers;
  if (!settings.headers_file.empty()) {
    Pairs more;
    set_target(
        {settings.headers_file, {read_secret(settings.headers_file)}, true},
        secret(list_kind("NAME:VALUE")), &more);
    std::ranges::move(more, std::back_inserter(own));
  }
  for (const auto& [name, value] : own) fields.emplace_back(lower(name), value);
  return fields;
}

}  // namespace

Duration wait_before(const XdsSettings& settings, std::size_t attempt,
                     double chance) {
  const Duration last = std::max(settings.last_wait, kShortestWait);
  Duration wait = std::clamp(settings.first_wait, kShortestWait, last);
  for (std::size_t i = 1; i < attempt && wait < last; ++i) {
    wait += std::min(wait, last - wait);  // centuries doubled may be too many
  }
  const double scaled =
      static_cast<double>(wait.count()) * (1 + chance * settings.random);
  if (scaled >= static_cast<double>(kNever.count())) return kNever;
  return std::max(Duration(static_cast<std::int64_t>(scaled)), kShortestWait);
}

XdsClient::XdsClient(Loop* loop, const XdsSettings* settings,
                     XdsListener* listener)
    : loop_(loop),
      settings_(*settings),
      listener_(listener),
      endpoint_(parse_endpoint(settings->server)),
      connect_(loop, [this] { connect(); }),
      give_up_(loop,
               [this] {
                 if (connection_ == nullptr || !connection_->has_heard())
                   on_end("the server does not answer");
               }),
      look_again_(loop, [this] { answer(read_response(kept_)); }) {
  if (settings_.tls.on) tls_.emplace(settings_.tls);
  connect_.set(loop_->now());
}

XdsClient::~XdsClient() { stop_dialing(); }

void XdsClient::stop_dialing() {
  if (watched_ != -1) loop_->remove(std::exchange(watched_, -1), this);
  dialer_.reset();
}

// Dials as far as possible without waiting.
void XdsClient::dial() {
  if (dialer_->failed()) return wait(std::string(dialer_->detail()));
  Fd fd = dialer_->take_socket();
  if (fd) return open_stream(std::move(fd));
  loop_->add(dialer_->fd(), dialer_->wants_write() ? EPOLLOUT : EPOLLIN, this);
  watched_ = dialer_->fd();
}

// The dialer may close the descriptor, and continue with another one.
void XdsClient::on_ready(std::uint32_t /*events*/) {
  loop_->remove(std::exchange(watched_, -1), this);
  dialer_->run();
  dial();
}

std::unique_ptr<Transport> XdsClient::transport_over(Fd fd) {
  keep_alive(fd);
  if (!tls_) return std::make_unique<PlainTransport>(std::move(fd));
  try {
    tls_->refresh();
  } catch (const Failure& failure) {
    tell_trouble(failure.what());  // the certificates are as before
  }
  return connect_tls(*tls_->context(), std::move(fd), endpoint_.host,
                     TlsProtocol::kHttp2);
}

void XdsClient::connect() {
  frames_.clear();
  status_.clear();
  message_.clear();
  too_large_ = false;
  refusals_ = 0;
  look_again_.cancel();
  give_up_.set(after(loop_->now(), kConnectTimeout));
  dialer_.emplace(endpoint_, connections_);
  dial();
}

void XdsClient::open_stream(Fd fd) {
  dialer_.reset();
  ++connections_;
  try {
    connection_ = std::make_unique<ClientConnection>(
        loop_, transport_over(std::move(fd)), fields_of(settings_), this);
    send({loaded_, "", ""});
  } catch (const std::exception& error) {
    wait(error.what());
  }
}

void XdsClient::send(const XdsRequest& request) {
  std::string frame;
  const std::size_t start = begin_frame(&frame);
  write_request(request, settings_, &frame);
  end_frame(&frame, start);
  connection_->send(frame);
}

void XdsClient::on_field(std::string_view name, std::string_view value) {
  if (name == "grpc-status") status_ = value;
  if (name == "grpc-message") message_ = value;
  if (name == ":status" && value != "200") {
    status_ = "HTTP " + std::string(value);
  }
}

void XdsClient::on_data(std::string_view bytes) {
  while (!bytes.empty() && !too_large_) {
    switch (frames_.next(&bytes, settings_.max_message_bytes)) {
      case FrameReader::Step::kMessage:
        too_large_ = frames_.is_compressed();
        if (!too_large_) answer(frames_.message());
        break;
      case FrameReader::Step::kMore:
        break;
      case FrameReader::Step::kBadFlag:
      case FrameReader::Step::kTooLarge:
        too_large_ = true;
    }
  }
  // The stream cannot be read any further after such a message.
  if (too_large_) {
    loop_->post([this] {
      if (too_large_ && connection_ != nullptr) {
        on_end("a message of " + std::to_string(frames_.size()) +
               " bytes is too large, or compressed");
      }
    });
  }
}

// If there are several messages of one version, the latest one counts.
void XdsClient::answer(std::string_view message) {
  XdsResponse response = read_response(message);
  attempts_ = 0;
  connections_ = 0;
  if (refusals_ == 0 || response.version != refused_) {
    look_again_.cancel();
    answer(std::move(response));
    return;
  }
  kept_ = message;
  if (!look_again_.is_set()) {
    look_again_.set(after(loop_->now(), next_wait(refusals_)));
  }
}

void XdsClient::answer(XdsResponse response) {
  kept_.clear();
  if (response.error.empty()) {
    response.error = listener_->take(std::move(response.files));
  } else {
    listener_->refuse(response.error);
  }
  if (response.error.empty()) {
    loaded_ = response.version;
    refusals_ = 0;
  } else {
    refusals_ = response.version == refused_ ? refusals_ + 1 : 1;
    refused_ = response.version;
  }
  send({loaded_, response.nonce, response.error});
}

void XdsClient::on_end(const std::string& why) {
  std::string text = why;
  if (!status_.empty() && status_ != "0") {
    text = "status " + status_;
    if (!message_.empty()) text += ": " + message_;
  }
  wait(text.empty() ? "the server has ended the stream" : text);
}

void XdsClient::wait(const std::string& why) {
  stop_dialing();
  connection_.reset();
  give_up_.cancel();
  ++attempts_;
  listener_->lost(why);
  look_again_.cancel();
  connect_.set(after(loop_->now(), next_wait(attempts_)));
}

Duration XdsClient::next_wait(std::size_t attempt) {
  const double chance = std::uniform_real_distribution<>(-1, 1)(random_);
  return wait_before(settings_, attempt, chance);
}

}  // namespace limitree::server
