// Certificates that are read again when their files change.

#ifndef LIMITREE_IO_TLS_FILES_HPP
#define LIMITREE_IO_TLS_FILES_HPP

#include <memory>
#include <string>

#include "io/tls_context.hpp"

namespace limitree::server {

class TlsFiles {
 public:
  // Throws Failure.
  explicit TlsFiles(TlsSettings settings);

  const std::shared_ptr<const TlsContext>& context() const { return context_; }

  // Loads the files again if one of them is another file or has changed since
  // they were loaded.  Returns whether there is a new context.  Throws Failure
  // and keeps the context if the files are not valid, or cannot be read now.
  bool refresh();

 private:
  // What tells versions of the files apart.  Symbolic links are followed.
  std::string state() const;

  TlsSettings settings_;
  std::string state_;
  std::shared_ptr<const TlsContext> context_;
};

}  // namespace limitree::server

#endif  // LIMITREE_IO_TLS_FILES_HPP
