// What a name server is asked, and how its answer is read.

#include <algorithm>
#include <utility>

#include "io/srv.hpp"

#if defined(LIMITREE_HAS_RES_NSEARCH) || defined(LIMITREE_HAS_RES_SEARCH)
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <tuple>

#include "base/dns_name.hpp"
#include "io/failure.hpp"

namespace limitree {

namespace {

struct SrvRecord {
  std::uint16_t priority = 0;
  Endpoint server;
};

// Reads a message of RFC 1035 from its beginning.  What is behind its end is
// zero, and then ok() is false.
class MessageReader {
 public:
  explicit MessageReader(std::span<const unsigned char> message)
      : message_(message) {}

  bool ok() const { return ok_; }

  // The next `count` bytes; fewer if there are not so many.
  MessageReader part(std::size_t count) {
    MessageReader part(*this);
    skip(count);
    part.end_ = at_;
    return part;
  }
  void skip(std::size_t count) {
    ok_ = ok_ && count <= end_ - at_;
    at_ = ok_ ? at_ + count : end_;
  }
  // The next `bytes` as a number.
  std::uint32_t number(std::size_t bytes) {
    std::uint32_t read = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::size_t at = at_;
      skip(1);
      read = read << 8U | (ok_ ? message_[at] : 0U);
    }
    return read;
  }
  std::uint16_t number16() { return static_cast<std::uint16_t>(number(2)); }
  void skip_name() {
    const int size = dn_skipname(message_.data() + at_, message_.data() + end_);
    skip(size < 0 ? end_ + 1 : static_cast<std::size_t>(size));
  }
  // Names may point to any place before them.
  std::string name() {
    char text[NS_MAXDNAME] = "";
    const int size = dn_expand(message_.data(), message_.data() + end_,
                               message_.data() + at_, text, sizeof text);
    skip(size < 0 ? end_ + 1 : static_cast<std::size_t>(size));
    return text;
  }

 private:
  std::span<const unsigned char> message_;
  std::size_t at_ = 0;
  std::size_t end_ = message_.size();
  bool ok_ = true;
};

// Reads what a record says.  False if it names no server.
bool read_record(MessageReader data, SrvRecord* read) {
  read->priority = data.number16();
  data.skip(2);  // its weight
  Endpoint& endpoint = read->server;
  endpoint.port = data.number16();
  endpoint.host = data.name();
  // Case means nothing in a name, and some servers choose it at random.
  for (char& one : endpoint.host) {
    if (one >= 'A' && one <= 'Z') one = static_cast<char>(one - 'A' + 'a');
  }
  // The root, which is empty here, means that there is no such service.
  return data.ok() && endpoint.port != 0 && is_dns_name(endpoint.host);
}

// Reads all records.  False if the message is damaged.
bool read_records(std::span<const unsigned char> answer,
                  std::vector<SrvRecord>* records, Duration* time_to_live) {
  MessageReader message(answer);
  message.skip(4);  // its id and flags
  const std::uint16_t questions = message.number16();
  const std::uint16_t answers = message.number16();
  message.skip(4);  // the numbers of other records
  for (int i = 0; i < questions && message.ok(); ++i) {
    message.skip_name();
    message.skip(4);  // type and class
  }
  for (int i = 0; i < answers && message.ok(); ++i) {
    message.skip_name();
    const std::uint16_t type = message.number16();
    message.skip(2);  // class
    const std::chrono::seconds time(message.number(4));
    const MessageReader data = message.part(message.number16());
    if (type != ns_t_srv || !message.ok()) continue;
    *time_to_live = std::min<Duration>(*time_to_live, time);
    SrvRecord read;
    if (read_record(data, &read)) records->push_back(std::move(read));
  }
  return message.ok();
}

// The order of a list.
auto place_of(const SrvRecord& one) {
  return std::tie(one.priority, one.server.host, one.server.port);
}

std::string no_answer(int error) {
  switch (error) {
    case HOST_NOT_FOUND:
      return as_clause(gai_strerror(EAI_NONAME));
    case NO_DATA:
      return "it has no SRV records";
    case TRY_AGAIN:
      return as_clause(gai_strerror(EAI_AGAIN));
    default:
      return as_clause(gai_strerror(EAI_FAIL));
  }
}

// Asks for the SRV records of a name.  Returns the size of the answer, or -1
// and *error.
#ifdef LIMITREE_HAS_RES_NSEARCH
int ask_name_servers(const std::string& name,
                     std::vector<unsigned char>* answer, int* error) {
  struct __res_state state {};  // that of the process may be in use
  *error = NO_RECOVERY;
  if (res_ninit(&state) != 0) return -1;
  const int size =
      res_nsearch(&state, name.c_str(), ns_c_in, ns_t_srv, answer->data(),
                  static_cast<int>(answer->size()));
  *error = state.res_h_errno;
  res_nclose(&state);
  return size;
}
#else  // musl's has no state
int ask_name_servers(const std::string& name,
                     std::vector<unsigned char>* answer, int* error) {
  const int size = res_search(name.c_str(), ns_c_in, ns_t_srv, answer->data(),
                              static_cast<int>(answer->size()));
  *error = h_errno;
  return size;
}
#endif

}  // namespace

std::string read_srv(std::span<const unsigned char> answer, SrvList* list) {
  std::vector<SrvRecord> records;
  Duration time_to_live = SrvServers::kMostTime;
  if (!read_records(answer, &records, &time_to_live)) {
    return "the answer of a name server is damaged";
  }
  if (records.empty()) return "it names no server";
  std::ranges::sort(records, {}, place_of);
  std::vector<Endpoint> servers;
  for (SrvRecord& one : records) {
    if (one.priority != records.front().priority) break;
    if (servers.empty() || servers.back() != one.server) {
      servers.push_back(std::move(one.server));
    }
  }
  if (servers.size() > SrvList::kMaxServers) {
    return "it names " + std::to_string(servers.size()) +
           " servers, more than " + std::to_string(SrvList::kMaxServers);
  }
  *list = {std::move(servers), time_to_live};
  return {};
}

std::string SrvLookup::ask() {
  std::vector<unsigned char> answer(NS_MAXMSG);
  int error = 0;
  const int size = ask_name_servers(name_, &answer, &error);
  if (size < 0) return no_answer(error);
  answer.resize(std::min(answer.size(), static_cast<std::size_t>(size)));
  return read_srv(answer, &list_);
}

}  // namespace limitree
#else
namespace limitree {

std::string read_srv(std::span<const unsigned char> /*answer*/,
                     SrvList* /*list*/) {
  return "SRV records cannot be looked up on this system";
}

std::string SrvLookup::ask() { return read_srv({}, &list_); }

}  // namespace limitree
#endif
