// The field Date.

#ifndef LIMITREE_SERVER_HTTP_DATE_HPP
#define LIMITREE_SERVER_HTTP_DATE_HPP

#include <ctime>
#include <string>

namespace limitree::server {

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::time_t seconds);

// The time now, written once for each second.
class HttpDate {
 public:
  const std::string& now();

 private:
  std::time_t at_ = -1;
  std::string text_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_HTTP_DATE_HPP
