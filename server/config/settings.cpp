#include "config/settings.hpp"

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

}  // namespace limitree::server
