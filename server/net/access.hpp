// What clients that connect to an address may do.

#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace limitree::server {

// The token of clients that may change buckets.  Its file is read again when it
// changes.
class AdminToken {
 public:
  // Tells clients what they lack.
  static constexpr std::string_view kMissing =
      "this needs the token of --admin-token-file: 'authorization: Bearer "
      "TOKEN'";

  // `file` has the token in its first line; empty: nobody has one.  Throws
  // Failure, which names the file.
  explicit AdminToken(std::string file);

  // Reads the file again if it was replaced or has changed.  Returns whether
  // there is a new token.  If the file has none, throws Failure and keeps the
  // old token.
  bool refresh();

  // Whether there is a file: else nobody has a token.
  bool is_set() const { return !file_.empty(); }

  // Whether `authorization`, a field of a request, is "Bearer " and the token.
  // Takes the same time for all texts of one length.  From any thread.
  bool allows(std::string_view authorization) const;

 private:
  std::string read() const;

  const std::string file_;
  std::string state_;  // of the file, when it was read
  mutable std::mutex mutex_;
  std::string token_;  // GUARDED_BY(mutex_)
};

// The names by which clients may call this machine: a page of another site can
// make a browser ask for a name of its own that has the address 127.0.0.1.
class HostNames {
 public:
  // `others` are known besides localhost and the addresses of this machine.
  explicit HostNames(std::vector<std::string> others);

  // Whether `authority`, such as "localhost:8080", has one of them.
  bool know(std::string_view authority) const;

 private:
  std::vector<std::string> others_;  // in small letters
};

// By default everything is allowed, as for clients that use a Unix socket or
// have a certificate.  The objects that are pointed to outlive all connections.
struct Access {
  // Null: no token is needed to change buckets.
  const AdminToken* token = nullptr;
  // Null: clients may use any name.
  const HostNames* hosts = nullptr;

  bool lets_change(std::string_view authorization) const {
    return token == nullptr || token->allows(authorization);
  }
};

}  // namespace limitree::server
