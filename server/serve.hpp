// `limitree serve`: the limit tree as a service.

#ifndef LIMITREE_SERVER_SERVE_HPP
#define LIMITREE_SERVER_SERVE_HPP

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "h2/settings.hpp"
#include "services/answer_settings.hpp"
#include "tls/context.hpp"

namespace limitree::server {

// What an address is for.
enum class ListenFor {
  kGrpc,   // with TLS, if there is a certificate
  kHttp,   // /v1 and /healthcheck, without TLS
  kHttps,  // the same with TLS
  kAdmin,  // the pages for people, without TLS
};

struct ListenPlace {
  ListenFor purpose = ListenFor::kGrpc;
  std::string address;  // for ListenAddress::parse()
};

struct ServeSettings {
  std::string limits;  // the name of a limits.yaml
  std::vector<ListenPlace> places;
  std::size_t workers = 1;
  // Options of the library, in this order.
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> descriptors;  // files of envoyproxy/ratelimit
  AnswerSettings answers;
  TlsSettings tls;
  ConnectionSettings connection;
  std::size_t max_message_bytes = 4 * 1024 * 1024;  // also of a body of HTTP
  std::string header_style = "ietf";                // of answers of /v1
  // After SIGTERM: how long health says NOT_SERVING before connections are
  // drained, and how long open calls may then take.
  Nanoseconds drain_delay = 0;
  Nanoseconds drain_grace = 30 * kSecond;
};

// Serves until SIGTERM or SIGINT has ended all calls, or a second signal comes.
// SIGHUP reads the limits and the certificates again.  Takes these signals for
// the whole process, whose other threads must not handle them.  Messages go to
// standard error.  Throws Failure, or what limitree.hpp throws, if it cannot
// start.
void serve(const ServeSettings& settings);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVE_HPP
