#include "io/tls_context.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <string>

#include "core/store/redis/redis_server.hpp"
#include "core/store/temporary_folder.hpp"
#include "io/failure.hpp"
#include "io/tls_files.hpp"

namespace limitree {
namespace {

std::string refusal_of(const TlsSettings& settings) {
  try {
    TlsContext::load(settings);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "none";
}

TEST(TlsContext, OptionsNeedEachOther) {
  EXPECT_EQ(refusal_of({.cert_file = "a"}),
            "a certificate and its key need each other");
  EXPECT_EQ(refusal_of({.key_file = "a"}),
            "a certificate and its key need each other");
  EXPECT_EQ(refusal_of({.client_ca_file = "a"}),
            "client authorities need a certificate of the server");
  EXPECT_EQ(
      refusal_of({.cert_file = "a", .key_file = "b", .client_names = {"c"}}),
      "names of clients need client authorities");
}

TEST(TlsContext, NamesTheFileThatIsNotThere) {
  EXPECT_EQ(refusal_of({.cert_file = "/nowhere/a", .key_file = "/nowhere/b"}),
            "certificate /nowhere/a: no such file or directory");
}

TEST(TlsFiles, TheFirstLoadMustSucceed) {
  EXPECT_THROW(TlsFiles<TlsContext>(
                   {.cert_file = "/nowhere/a", .key_file = "/nowhere/b"}),
               Failure);
}

// As when all descriptors are connections.
TEST(TlsFiles, AreReadLaterIfTheyCannotBeReadNow) {
  const TemporaryFolder folder("tls");
  redis::make_certificates(folder.path());
  const std::string cert = folder.path() + "/server.crt";
  TlsFiles<TlsContext> files(
      {.cert_file = cert, .key_file = folder.path() + "/server.key"});
  const auto before = files.context();
  EXPECT_FALSE(files.refresh());
  ASSERT_EQ(utimensat(AT_FDCWD, cert.c_str(), nullptr, 0), 0);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW(files.refresh(), Failure);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(files.context(), before);
  EXPECT_TRUE(files.refresh());
  EXPECT_NE(files.context(), before);
  EXPECT_FALSE(files.refresh());
}

}  // namespace
}  // namespace limitree
