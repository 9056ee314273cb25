// What a memcached store has beyond what every remote store has.

#pragma once

#include "store/memcached/url.hpp"
#include "store/remote/common/settings.hpp"

namespace limitree::memcached {

struct Settings : remote::Settings {
  Url url;
};

}  // namespace limitree::memcached
