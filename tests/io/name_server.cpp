#include "io/name_server.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>

#include "io/socket.hpp"

namespace limitree {

namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kMostBytesOfUdp = 512;

std::atomic<int> port_of_server{0};  // 0: as the system has it

void check(bool ok) {
  if (!ok) throw std::runtime_error("the name server cannot listen");
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

bool bind_to(int fd, int port) {
  const sockaddr_in address = loopback(port);
  return bind(fd, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) == 0;
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// Where the question ends, and the name in it.
std::size_t read_question(std::string_view message, std::string* name) {
  std::size_t at = kHeader;
  while (at < message.size() && message[at] != '\0') {
    const auto size = static_cast<unsigned char>(message[at]);
    if (!name->empty()) *name += '.';
    *name += message.substr(at + 1, size);
    at += size + 1U;
  }
  return at + 5;  // the root, type and class
}

}  // namespace

std::string dns_number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) {
    text += static_cast<char>(value >> (8 * i) & 0xff);
  }
  return text;
}

std::string dns_name(std::string_view text) {
  std::string labels;
  while (!text.empty()) {
    const std::string_view label = text.substr(0, text.find('.'));
    labels += static_cast<char>(label.size());
    labels += label;
    text.remove_prefix(std::min(text.size(), label.size() + 1));
  }
  return labels + '\0';
}

DnsRecord srv_record(int priority, int weight, int port,
                     std::string_view target, std::uint32_t time_to_live) {
  return {33, time_to_live,
          dns_number(static_cast<std::uint64_t>(priority), 2) +
              dns_number(static_cast<std::uint64_t>(weight), 2) +
              dns_number(static_cast<std::uint64_t>(port), 2) +
              dns_name(target)};
}

std::string dns_message(std::string_view question, const DnsAnswer& answer) {
  std::string name;
  const std::size_t end = read_question(question, &name);
  const auto flags = static_cast<std::uint64_t>(0x8180 | answer.code);
  std::string message(question.substr(0, 2));
  message += dns_number(flags, 2) + dns_number(1, 2) +
             dns_number(answer.records.size(), 2) + dns_number(0, 4);
  message += question.substr(kHeader, end - kHeader);
  for (const DnsRecord& one : answer.records) {
    // The name is the one in the question.
    message += dns_number(0xc000 | kHeader, 2) + dns_number(one.type, 2) +
               dns_number(1, 2) + dns_number(one.time_to_live, 4) +
               dns_number(one.data.size(), 2) + one.data;
  }
  return message;
}

NameServer::NameServer(Answer answer) : answer_(std::move(answer)) {
  // Both of them have the same port, which another process may have.
  for (int i = 0; i < 100 && !listener_; ++i) {
    datagrams_ = Fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    check(bind_to(datagrams_.get(), 0));
    Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind_to(listener.get(), port_of(datagrams_.get()))) {
      listener_ = std::move(listener);
    }
  }
  check(listener_ && listen(listener_.get(), 9) == 0);
  check(make_pipe(&stopped_, &stop_));
  port_of_server = port_of(datagrams_.get());
  thread_ = std::thread([this] { serve(); });
}

NameServer::~NameServer() {
  port_of_server = 0;
  stop_.reset();
  thread_.join();
}

void NameServer::serve() {
  while (true) {
    pollfd fds[] = {{stopped_.get(), POLLIN, 0},
                    {datagrams_.get(), POLLIN, 0},
                    {listener_.get(), POLLIN, 0}};
    if (poll(fds, 3, -1) < 0) continue;
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) answer_datagram();
    if (fds[2].revents != 0) answer_stream();
  }
}

std::string NameServer::answer_to(std::string_view question, std::size_t most) {
  std::string name;
  read_question(question, &name);
  const DnsAnswer answer = answer_(name);
  if (answer.code < 0) return {};
  std::string message = dns_message(question, answer);
  if (message.size() > most) {
    message = dns_message(question, {});
    message[2] = static_cast<char>(message[2] | 2);  // it is cut off
  }
  return message;
}

void NameServer::answer_datagram() {
  char bytes[2048];
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  const ssize_t count = recvfrom(datagrams_.get(), bytes, sizeof bytes, 0,
                                 reinterpret_cast<sockaddr*>(&from), &size);
  if (count < static_cast<ssize_t>(kHeader)) return;
  const std::string message =
      answer_to({bytes, static_cast<std::size_t>(count)}, kMostBytesOfUdp);
  if (message.empty()) return;
  sendto(datagrams_.get(), message.data(), message.size(), 0,
         reinterpret_cast<sockaddr*>(&from), size);
}

void NameServer::answer_stream() {
  const Fd stream(accept(listener_.get(), nullptr, nullptr));
  char bytes[2048];
  const ssize_t count = recv(stream.get(), bytes, 2, MSG_WAITALL);
  if (count != 2) return;
  const std::size_t size = static_cast<unsigned char>(bytes[0]) * 256U +
                           static_cast<unsigned char>(bytes[1]);
  if (size < kHeader || size > sizeof bytes ||
      recv(stream.get(), bytes, size, MSG_WAITALL) !=
          static_cast<ssize_t>(size)) {
    return;
  }
  std::string message = answer_to({bytes, size}, 0xffff);
  message.insert(0, dns_number(message.size(), 2));
  send(stream.get(), message.data(), message.size(), MSG_NOSIGNAL);
}

}  // namespace limitree

// Replaces that of the C library: the configuration of the system is as it is,
// but for the server.
extern "C" int __res_ninit(res_state state) {  // NOLINT: the C library's name
  static auto* const system =
      reinterpret_cast<decltype(__res_ninit)*>(dlsym(RTLD_NEXT, "__res_ninit"));
  const int result = system(state);
  const int port = limitree::port_of_server;
  if (result == 0 && port != 0) {
    state->nscount = 1;
    state->nsaddr_list[0] = limitree::loopback(port);
  }
  return result;
}
