// What every connection of a store has in common.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "io/look.hpp"
#include "io/tls_client_context.hpp"

namespace limitree::remote {

class TlsCertificates;  // wire/tls_certificates.hpp

using LowLatency = limitree::LowLatency;  // of a blocking call

// Has a client of the host send a command, which is in the protocol of the
// server.  An answer counts for `time_left`.  Called from any thread, and
// without a lock.
using SendFunction = std::function<void(
    std::uint64_t token, std::string_view bytes, Duration time_left)>;

struct Settings {
  TlsClientSettings tls;
  std::shared_ptr<TlsCertificates> certificates;  // null without TLS

  std::string prefix = "limitree:";  // of every key; holds no brace
  Duration timeout = std::chrono::milliseconds(50);  // of a whole call
  // Of an attempt to connect: TCP, TLS and login, once the address is known.
  Duration connect_timeout = std::chrono::seconds(1);
  std::int64_t connections = 4;  // per node, for blocking callers
  LowLatency low_latency = LowLatency::kAuto;
};

}  // namespace limitree::remote
