#include "config/settings.hpp"

#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree::server {

// The admin pages tell who is limited: only this machine may read them.
std::vector<ListenPlace> default_places() {
  return {{ListenFor::kGrpc, ":8081", true},
          {ListenFor::kHttp, ":8080", true},
          {ListenFor::kAdmin, "127.0.0.1:6070", true}};
}

void listen_at(ListenFor purpose, const std::vector<std::string>& addresses,
               ServeSettings* settings) {
  std::erase_if(settings->places, [&](const ListenPlace& place) {
    return place.purpose == purpose;
  });
  for (const std::string& address : addresses) {
    settings->places.push_back({purpose, address});
  }
}

std::string place_text(ListenFor purpose, const std::string& address) {
  switch (purpose) {
    case ListenFor::kGrpc:
      return address;
    case ListenFor::kHttp:
      return "http://" + address;
    case ListenFor::kHttps:
      return "https://" + address;
    case ListenFor::kAdmin:
      return "admin http://" + address;
    case ListenFor::kMetrics:
      return "metrics http://" + address;
  }
  return {};
}

// The page for Prometheus alone changes nothing, and has an address only if
// somebody gave it one.
void keep_plain_http_local(ServeSettings* settings) {
  if (settings->tls.client_ca_file.empty() || settings->allows_plain_http) {
    return;
  }
  for (ListenPlace& place : settings->places) {
    const bool plain =
        place.purpose == ListenFor::kHttp || place.purpose == ListenFor::kAdmin;
    if (!plain || ListenAddress::parse(place.address).is_local()) continue;
    if (!place.is_default) {
      throw Failure(place.address +
                    " would answer clients without a certificate; use "
                    "--https-listen, a loopback address or --plain-http");
    }
    place.address = "127.0.0.1" + place.address;
  }
}

}  // namespace limitree::server
