// Opening and making the file: what is wrong with it, and who comes first.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/store/shared/file_walk.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"

namespace limitree {
namespace {

using shared::Header;

std::string header_of(const std::string& path) {
  std::string header(sizeof(Header), '\0');
  std::ifstream(path, std::ios::binary)
      .read(header.data(), static_cast<std::streamsize>(header.size()));
  return header;
}

// Puts `bytes` at `offset` of a file.
void patch(const std::string& path, std::size_t offset,
           const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file << bytes;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

constexpr const char* kReset = "; reset=1 in the URL makes it anew";

TEST(SharedOpen, MakesNothingButTheFile) {
  const SharedFile file;
  EXPECT_EQ(file.error(), "");
  EXPECT_EQ(names_in(file.folder()), std::vector<std::string>{"limits"});
}

TEST(SharedOpen, RefusesWhatIsNoFileOfOurs) {
  const SharedFile file;
  std::ofstream(file.path()) << "short";
  EXPECT_EQ(file.error(),
            file.path() + ": is too short to be a file of limitree" + kReset);
  std::ofstream(file.path()) << std::string(5000, 'x');
  EXPECT_EQ(file.error(), file.path() + ": is not a file of limitree" + kReset);
}

TEST(SharedOpen, NamesOtherVersionsSizesAndByteOrders) {
  const SharedFile file(1000);
  ASSERT_EQ(file.error(), "");
  const std::string header = header_of(file.path());
  const auto with = [&](std::size_t offset, const std::string& bytes) {
    patch(file.path(), offset, bytes);
    const std::string error = file.error();
    patch(file.path(), 0, header);
    return error;
  };
  EXPECT_EQ(
      with(offsetof(Header, version), std::string("\x09\0\0\0", 4)),
      file.path() + ": has format version 9, this limitree knows 2" + kReset);
  EXPECT_EQ(
      with(offsetof(Header, byte_order), "\x01\x02\x03\x04"),
      file.path() + ": was made on a machine with another byte order" + kReset);
  EXPECT_EQ(file.error(), "");
  SharedFile larger;
  larger.settings.url.path = file.path();
  larger.settings.url.max_buckets = 2000;
  EXPECT_EQ(larger.error(),
            file.path() + ": was made for 1000 buckets, not 2000" + kReset);
  larger.settings.url.max_buckets = 1000;
  EXPECT_EQ(larger.error(), "");
}

// Whatever byte of the header is flipped, the file is refused, or the byte does
// not matter.
TEST(SharedOpen, NoticesEveryFlippedByteOfTheHeader) {
  const SharedFile file(1000);
  ASSERT_EQ(file.error(), "");
  const std::string header = header_of(file.path());
  for (std::size_t i = 0; i < offsetof(Header, clock_offset); ++i) {
    for (const int bit : {1, 128}) {
      patch(file.path(), i, std::string(1, static_cast<char>(header[i] ^ bit)));
      EXPECT_NE(file.error(), "") << i;
    }
    patch(file.path(), i, std::string(1, header[i]));
  }
  EXPECT_EQ(file.error(), "");
}

TEST(SharedOpen, RefusesAFileThatWasCutOff) {
  const SharedFile file(1000);
  ASSERT_EQ(file.error(), "");
  const auto size = std::filesystem::file_size(file.path());
  ASSERT_EQ(truncate(file.path().c_str(), 8192), 0);
  EXPECT_EQ(file.error(), file.path() + ": has 8192 bytes instead of " +
                              std::to_string(size) + kReset);
}

TEST(SharedOpen, ResetMakesOnlyWhatIsUselessAnew) {
  SharedFile file(1000);
  file.settings.url.reset = true;
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  EXPECT_TRUE(allowed(file.open().get(), limit, "a"));
  EXPECT_FALSE(allowed(file.open().get(), limit, "a")) << "a good file stays";
  patch(file.path(), 0, "x");
  EXPECT_TRUE(allowed(file.open().get(), limit, "a"));
  EXPECT_FALSE(allowed(file.open().get(), limit, "a"));
  EXPECT_EQ(names_in(file.folder()), std::vector<std::string>{"limits"});
}

TEST(SharedOpen, FollowsNoSymbolicLink) {
  const SharedFile file;
  const SharedFile target;
  ASSERT_EQ(target.error(), "");
  ASSERT_EQ(symlink(target.path().c_str(), file.path().c_str()), 0);
  EXPECT_EQ(file.error(),
            file.path() + ": is a symbolic link, which is not followed");
}

TEST(SharedOpen, OpensOnlyRegularFiles) {
  const SharedFile file;
  ASSERT_EQ(mkfifo(file.path().c_str(), 0600), 0);
  EXPECT_EQ(file.error(), file.path() + ": is not a regular file");
}

TEST(SharedOpen, MakesNoFileIfTheUrlSaysSo) {
  SharedFile file;
  file.settings.url.make = false;
  EXPECT_EQ(file.error(),
            file.path() + ": cannot be opened: No such file or directory");
  EXPECT_TRUE(names_in(file.folder()).empty());
  file.settings.url.make = true;
  EXPECT_EQ(file.error(), "");
  file.settings.url.make = false;
  EXPECT_EQ(file.error(), "");
}

TEST(SharedOpen, NamesTheReasonOfTheSystem) {
  SharedFile file;
  file.settings.url.path = file.folder() + "/none/limits";
  EXPECT_EQ(file.error(),
            file.path() + ": cannot be made: No such file or directory");
  file.settings.url.path = file.folder();
  EXPECT_EQ(file.error(), file.path() + ": cannot be opened: Is a directory");
}

// Runs `body` as another user, in a child, and returns what it returns.
template <typename Body>
int as_user(uid_t user, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(user) != 0 || setuid(user) != 0) _exit(99);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

TEST(SharedOpen, RefusesTheFileOfAnotherUserUnlessShared) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  SharedFile file;
  ASSERT_EQ(chmod(file.folder().c_str(), 0777), 0);
  EXPECT_EQ(as_user(65534, [&] { return file.error().empty() ? 0 : 1; }), 0);
  EXPECT_EQ(file.error(), file.path() +
                              ": belongs to user 65534, not to user 0; "
                              "mode=0660 in the URL shares it with a group");
  file.settings.url.mode = 0660;
  EXPECT_EQ(file.error(), file.path() +
                              ": belongs to user 65534 and group 65534, of "
                              "which this process is no member");
  ASSERT_EQ(chown(file.path().c_str(), 65534, getegid()), 0);
  EXPECT_EQ(file.error(), "");
  ASSERT_EQ(chmod(file.path().c_str(), 0666), 0);
  EXPECT_EQ(file.error(), file.path() +
                              ": belongs to user 65534, and others than the "
                              "mode in the URL says may write to it");
  // Not even one's own, if there is no right to write beside it.
  EXPECT_EQ(as_user(65533,
                    [&] {
                      file.settings.url.mode = 0600;
                      return file.error() ==
                                     file.path() +
                                         ": belongs to user 65534, not to user "
                                         "65533; mode=0660 in the URL shares "
                                         "it with a group"
                                 ? 0
                                 : 1;
                    }),
            0);
}

// It may be of a version that made such files.
TEST(SharedOpen, RefusesAFileThatReadersCanLock) {
  const SharedFile file(1000);
  ASSERT_EQ(file.error(), "");
  for (const mode_t mode : {0644u, 0640u, 0604u, 0620u}) {
    ASSERT_EQ(chmod(file.path().c_str(), mode), 0);
    EXPECT_EQ(file.error(),
              file.path() +
                  ": lets users read it who may not write to it, or the other "
                  "way round, and they can lock it; chmod 600 mends that");
  }
  ASSERT_EQ(chmod(file.path().c_str(), 0660), 0);
  EXPECT_EQ(file.error(), "");
}

TEST(SharedOpen, SaysThatAFolderIsReadOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const SharedFile file;
  ASSERT_EQ(chmod(file.folder().c_str(), 0755), 0);
  EXPECT_EQ(as_user(65534,
                    [&] {
                      return file.error() ==
                                     file.path() +
                                         ": cannot be made: Permission denied"
                                 ? 0
                                 : 1;
                    }),
            0);
}

// Many processes come at once, and each charges one unit: all of them have to
// find the same file.  `prepare` leaves what they find.
template <typename Prepare>
void race(Prepare prepare) {
  for (int round = 0; round < 20; ++round) {
    SharedFile file(1000);
    file.settings.url.reset = true;
    prepare(file.path());
    constexpr int kProcesses = 8;
    const Limit limit = simple_limit(std::chrono::hours(1), 3);
    int go[2];
    ASSERT_EQ(pipe(go), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        char byte = 0;
        close(go[1]);
        if (read(go[0], &byte, 1) != 0) _exit(2);  // until it is closed
        const auto store = file.open();
        _exit(store == nullptr ? 2 : allowed(store.get(), limit, "a") ? 1 : 0);
      }
      children.push_back(child);
    }
    close(go[0]);
    close(go[1]);
    int admitted = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      ASSERT_TRUE(WIFEXITED(status));
      ASSERT_NE(WEXITSTATUS(status), 2);
      admitted += WEXITSTATUS(status);
    }
    EXPECT_EQ(admitted, 3);
    EXPECT_EQ(names_in(file.folder()), std::vector<std::string>{"limits"});
  }
}

TEST(SharedOpen, MakersAtOnceAgree) {
  race([](const std::string&) {});
}

TEST(SharedOpen, ReplacersAtOnceAgree) {
  race([](const std::string& path) { std::ofstream(path) << "damaged"; });
}

// A small file system in memory, if the tests may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& folder, const char* size)
      : folder_(folder) {
    mounted_ = mount("tmpfs", folder.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  const std::string folder_;
  bool mounted_;
};

// A table that gets no memory to grow evicts instead.
TEST(SharedOpen, GoesOnWhenTheDiskIsFull) {
  const SharedFile file(1'000'000);
  const SmallDisk disk(file.folder(), "size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk";
  const auto store = file.open();
  ASSERT_NE(store, nullptr);
  const Limit limit = simple_limit(std::chrono::hours(1), 1);
  for (int i = 0; i < 200'000; ++i) {
    ASSERT_TRUE(allowed(store.get(), limit, std::to_string(i)));
  }
  const StoreStats stats = store->stats();
  EXPECT_LE(stats.bytes, 1 << 20);
  EXPECT_GT(stats.buckets, 10'000);
  EXPECT_EQ(stats.evictions, 200'000 - stats.buckets);
  EXPECT_EQ(faults_in(store.get()), std::vector<std::string>());
}

// With no memory at all a bucket is not forgotten silently.
TEST(SharedOpen, FailsWhenTheDiskIsFullFromTheBeginning) {
  const SharedFile file(1000);
  const SmallDisk disk(file.folder(), "size=20k");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk";
  const auto store = file.open();
  ASSERT_NE(store, nullptr);
  const std::string rest = file.folder() + "/rest";
  std::ofstream(rest) << std::string(20'000, 'x');
  for (const Algorithm algorithm :
       {Algorithm::kGcra, Algorithm::kFixedWindow, Algorithm::kSlidingLog}) {
    const Limit limit = limit_of(algorithm, 10, std::chrono::hours(1));
    EXPECT_EQ(failure(store.get(), limit, "a"), "shm_full");
  }
  std::filesystem::remove(rest);
  const Limit limit = simple_limit(std::chrono::hours(1), 10);
  EXPECT_EQ(failure(store.get(), limit, "a"), "");
  EXPECT_EQ(store->stats().buckets, 1);
}

// Nothing is charged if one of the buckets finds no memory.
TEST(SharedOpen, ChargesNothingWhenTheDiskIsFull) {
  const SharedFile file(8192);  // two shards
  const SmallDisk disk(file.folder(), "size=24k");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk";
  const auto store = file.open();
  ASSERT_NE(store, nullptr);
  const Limit all = simple_limit(std::chrono::hours(1), 1000);
  ASSERT_TRUE(allowed(store.get(), all, "all"));
  std::ofstream(file.folder() + "/rest") << std::string(20'000, 'x');
  std::int64_t charged = 1;
  const auto ask = [&](const Limit& limit, const std::string& name) {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("all", Segment::Kind::kCaller);
    plan.segments.emplace_back(name, Segment::Kind::kCaller);
    plan.add_level(&all, 0u, 1u, 1);
    plan.add_level(&limit, 0u, 2u, 1);
    const Status status = store->decide(&plan);
    charged += status.ok() ? 1 : 0;
    return status.ok() ? "" : status.error().reason;
  };
  const Limit window =
      limit_of(Algorithm::kFixedWindow, 10, std::chrono::hours(1));
  EXPECT_STREQ(ask(window, "a"), "shm_full");
  int failed = 0;
  for (int i = 0; i < 40; ++i) {  // about half of them are in the full shard
    failed += *ask(all, std::to_string(i)) == '\0' ? 0 : 1;
  }
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, 40);
  Request peek(Operation::kPeek, {"all"});
  EXPECT_EQ(peek.level(all, 1, 0).decide(store.get()).remaining,
            1000 - charged);
}

// To try would end the process.
TEST(SharedOpen, SaysThatTheFileWouldBeTooLarge) {
  const SharedFile file(1000);
  EXPECT_EQ(as_user(geteuid(),
                    [&] {
                      const rlimit small{1 << 20, 1 << 20};
                      setrlimit(RLIMIT_FSIZE, &small);
                      return file.error() ==
                                     file.path() +
                                         ": cannot be made: File too large"
                                 ? 0
                                 : 1;
                    }),
            0);
}

TEST(SharedOpen, SaysThatTheDiskIsFull) {
  const SharedFile file(1000);
  const SmallDisk disk(file.folder(), "size=4k");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk";
  EXPECT_EQ(file.error(),
            file.path() + ": cannot be made: No space left on device");
  EXPECT_TRUE(names_in(file.folder()).empty());
}

}  // namespace
}  // namespace limitree
