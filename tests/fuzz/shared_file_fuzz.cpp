// A file of shm:// whose bytes are arbitrary.
//
// The input overwrites parts of a good file, then plays with a store on it.
// Whatever the bytes say: nothing outside the file is touched, and every
// request ends.

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/plan.hpp"
#include "random_input.hpp"
#include "store/shared/shared_store.hpp"

namespace {

using namespace limitree;  // NOLINT

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

std::string path_of_file() {
  return (std::filesystem::temp_directory_path() /
          ("limitree-fuzz-" + std::to_string(getpid())))
      .string();
}

SharedStore::Settings settings_for(std::int64_t* now) {
  SharedStore::Settings settings;
  settings.url.path = path_of_file();
  settings.max_buckets = 64;
  settings.max_bytes = 64 * 64 + 8192;
  settings.timeout = std::chrono::milliseconds(1);
  settings.clock =
      Clock([](void* self) { return *static_cast<std::int64_t*>(self); }, now);
  return settings;
}

// The last three can hold.
const std::array<Limit, 9>& limits() {
  static const std::array<Limit, 9> all = [] {
    std::array<Limit, 9> made;
    std::size_t i = 0;
    for (const Algorithm algorithm :
         {Algorithm::kGcra, Algorithm::kFixedWindow, Algorithm::kSlidingTail,
          Algorithm::kLeakyStep, Algorithm::kSlidingWindow,
          Algorithm::kSlidingLog, Algorithm::kGcra, Algorithm::kFixedWindow,
          Algorithm::kConcurrent}) {
      const bool holds = i > 5;
      Limit& limit = made[i++];
      limit.rate = make_rate(9, std::chrono::seconds(1), 9).value();
      limit.count = 9;
      limit.period = std::chrono::seconds(1);
      limit.algorithm = algorithm;
      if (algorithm == Algorithm::kGcra && !holds) continue;
      Rules rules;
      if (holds) rules.hold = std::chrono::milliseconds(700);
      rules.frees = algorithm == Algorithm::kConcurrent;
      if (algorithm == Algorithm::kSlidingWindow) {
        rules.bucket = std::chrono::milliseconds(100);
      }
      limit.rules = std::make_shared<const Rules>(rules);
      limit.suffix = traits_of(algorithm).suffix;
    }
    return made;
  }();
  return all;
}

void ask(Store* store, RandomInput* input) {
  constexpr std::array kOperations = {
      Operation::kAuthorize, Operation::kPeek,    Operation::kSpend,
      Operation::kRefund,    Operation::kReserve, Operation::kLook,
      Operation::kSettle,    Operation::kExtend};
  Plan plan(kOperations[input->byte() % kOperations.size()]);
  std::vector<FoundHold> found;
  if (plan.only_looks) plan.found = &found;
  plan.reservation = {{7, input->byte() % 8U},
                      std::chrono::milliseconds(1 + 8 * input->byte())};
  const std::string name(1, static_cast<char>('a' + input->byte() % 8));
  plan.segments.emplace_back(name, Segment::Kind::kCaller);
  plan.segments.emplace_back("x", Segment::Kind::kExact);
  for (std::uint32_t depth = 1; depth <= 2; ++depth) {
    const bool about_hold = is_about_hold(plan.operation);
    const std::size_t first = about_hold ? 6 : 0;
    plan.add_level(
        &limits()[first + input->byte() % (limits().size() - first)], 0u, depth,
        input->byte() % 12 - (plan.operation == Operation::kSettle ? 1 : 0));
  }
  // A request may fail: then it says why.
  const Status status = store->decide(&plan);
  if (!status.ok() && status.error().messages[0].empty()) std::abort();
  if (input->one_in(20) && !store->reset(plan).ok()) return;
}

void play(Store* store, std::int64_t* now, RandomInput* input) {
  for (int i = 0; i < 60; ++i) {
    *now += std::int64_t{input->byte()} * 10'000'000;
    ask(store, input);
  }
  static_cast<void>(store->stats());
}

// Overwrites some runs of bytes, mostly in the shards.
void overwrite(const std::string& path, RandomInput* input) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto size = std::filesystem::file_size(path);
  for (int runs = input->byte() % 8; runs > 0; --runs) {
    const std::uint64_t at =
        (std::uint64_t{input->byte()} << 8 | input->byte()) * 8 % size;
    file.seekp(static_cast<std::streamoff>(at));
    for (int left = 1 + input->byte() % 32; left > 0; --left) {
      file.put(static_cast<char>(input->byte()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  RandomInput input(data, size);
  std::int64_t now = kStart;
  const SharedStore::Settings settings = settings_for(&now);
  unlink(settings.url.path.c_str());
  {
    Result<std::unique_ptr<Store>> store = SharedStore::open(settings);
    if (!store.ok()) std::abort();
    play(store.value().get(), &now, &input);
  }
  overwrite(settings.url.path, &input);
  Result<std::unique_ptr<Store>> store = SharedStore::open(settings);
  if (store.ok()) play(store.value().get(), &now, &input);
  unlink(settings.url.path.c_str());
  return 0;
}
