// A name server for a test, and the resolver of this process that asks it.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "io/fd.hpp"

namespace limitree {

// Parts of a message of RFC 1035.
struct DnsRecord {
  std::uint16_t type = 33;  // SRV
  std::uint32_t time_to_live = 60;
  std::string data;
};

std::string dns_number(std::uint64_t value, int bytes);
// "a.example" as labels.
std::string dns_name(std::string_view text);
DnsRecord srv_record(int priority, int weight, int port,
                     std::string_view target, std::uint32_t time_to_live = 60);

struct DnsAnswer {
  std::vector<DnsRecord> records = {};
  int code = 0;  // 2: SERVFAIL, 3: NXDOMAIN, -1: no answer
};

// The whole message that answers `question`.
std::string dns_message(std::string_view question, const DnsAnswer& answer);

// While it lives, res_ninit() of this process names it as the only server.
// Answers that are too long for UDP come by TCP.
class NameServer {
 public:
  // `answer` gets the name that is asked for, such as "_a._tcp.example.com".
  using Answer = std::function<DnsAnswer(const std::string& name)>;

  explicit NameServer(Answer answer);
  ~NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

 private:
  void serve();
  std::string answer_to(std::string_view question, std::size_t most);
  void answer_datagram();
  void answer_stream();

  const Answer answer_;
  Fd datagrams_;
  Fd listener_;
  Fd stopped_;
  Fd stop_;
  std::thread thread_;
};

}  // namespace limitree
