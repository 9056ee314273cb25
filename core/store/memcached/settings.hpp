// What a memcached store has beyond what every remote store has.

#ifndef LIMITREE_STORE_MEMCACHED_SETTINGS_HPP
#define LIMITREE_STORE_MEMCACHED_SETTINGS_HPP

#include "store/memcached/url.hpp"
#include "store/remote/common/settings.hpp"

namespace limitree::memcached {

struct Settings : remote::Settings {
  Url url;
};

}  // namespace limitree::memcached

#endif  // LIMITREE_STORE_MEMCACHED_SETTINGS_HPP
