#include "live_server.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string_view>

#include "failure.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kAdminPort = "6070";
// More than the service ever sends.
constexpr std::size_t kMostAnswer = std::size_t{16} << 20;
constexpr timeval kPatience{5, 0};  // for each call, and for an answer

struct Place {
  std::string host;
  std::string port = kAdminPort;
  std::string path;  // of a proxy before the service; begins with "/"
};

Place read_url(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) {
    throw UsageError("--server: '" + url +
                     "' is not a URL such as http://127.0.0.1:6070");
  }
  std::string rest = url.substr(kScheme.size());
  Place place;
  const std::size_t slash = rest.find('/');
  if (slash != rest.npos) {
    place.path = rest.substr(slash);
    rest.erase(slash);
  }
  while (place.path.ends_with('/')) place.path.pop_back();
  const std::size_t colon = rest.rfind(':');
  const std::size_t bracket = rest.rfind(']');
  if (colon != rest.npos && (bracket == rest.npos || colon > bracket)) {
    place.port = rest.substr(colon + 1);
    rest.erase(colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) {
    rest = rest.substr(1, rest.size() - 2);
  }
  place.host = rest;
  return place;
}

// A connected socket.
class Connection {
 public:
  explicit Connection(const Place& place) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int code =
        getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found);
    if (code != 0) throw FileError(place.host + ": " + gai_strerror(code));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found,
                                                               freeaddrinfo);
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      fd_ = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC,
                   one->ai_protocol);
      if (fd_ < 0) continue;
      setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
      setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
      if (connect(fd_, one->ai_addr, one->ai_addrlen) == 0) return;
      const int error_number = errno;
      close(fd_);
      fd_ = -1;
      errno = error_number;
    }
    throw FileError(place.host + ':' + place.port, errno);
  }
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send_all(std::string_view text, const std::string& name) const {
    while (!text.empty()) {
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) throw FileError(name, errno);
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  // Until the other side ends.
  std::string read_all(const std::string& name) const {
    std::string text;
    std::array<char, 16384> bytes;
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::seconds(kPatience.tv_sec);
    for (;;) {
      if (std::chrono::steady_clock::now() >= end) {
        throw FileError(name, ETIMEDOUT);
      }
      const ssize_t read = recv(fd_, bytes.data(), bytes.size(), 0);
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) throw FileError(name, errno);
      if (read == 0) return text;
      text.append(bytes.data(), static_cast<std::size_t>(read));
      if (text.size() > kMostAnswer) throw FileError(name + ": too long");
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace

std::string live_data_of(const std::string& url) {
  const Place place = read_url(url);
  const Connection connection(place);
  const bool is_v6 = place.host.find(':') != place.host.npos;
  connection.send_all("GET " + place.path + "/ui/data.json HTTP/1.1\r\nHost: " +
                          (is_v6 ? '[' + place.host + ']' : place.host) + ':' +
                          place.port + "\r\nConnection: close\r\n\r\n",
                      url);
  const std::string answer = connection.read_all(url);
  const std::size_t body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 200 ") || body == answer.npos) {
    throw FileError(url + ": is not the admin port of limitree serve");
  }
  return answer.substr(body + 4);
}

}  // namespace limitree::cli
