#include "tls/context.hpp"

#include <gtest/gtest.h>

#include <string>

#include "net/failure.hpp"
#include "tls/files.hpp"

namespace limitree::server {
namespace {

std::string failure_of(const TlsSettings& settings) {
  try {
    TlsContext::load(settings);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "none";
}

TEST(TlsContext, OptionsNeedEachOther) {
  EXPECT_EQ(failure_of({.cert_file = "a"}),
            "a certificate and its key need each other");
  EXPECT_EQ(failure_of({.key_file = "a"}),
            "a certificate and its key need each other");
  EXPECT_EQ(failure_of({.client_ca_file = "a"}),
            "client authorities need a certificate of the server");
  EXPECT_EQ(
      failure_of({.cert_file = "a", .key_file = "b", .client_names = {"c"}}),
      "names of clients need client authorities");
}

TEST(TlsContext, NamesTheFileThatIsNotThere) {
  EXPECT_EQ(failure_of({.cert_file = "/nowhere/a", .key_file = "/nowhere/b"}),
            "certificate /nowhere/a: no such file or directory");
}

TEST(TlsFiles, TheFirstLoadMustSucceed) {
  EXPECT_THROW(TlsFiles({.cert_file = "/nowhere/a", .key_file = "/nowhere/b"}),
               Failure);
}

}  // namespace
}  // namespace limitree::server
