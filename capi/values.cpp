// Versions, statuses, errors, texts, and texts that mean numbers: the part of
// limitree.h that decides nothing.

#include <algorithm>
#include <array>

#include "base/decision.hpp"
#include "base/limit.hpp"
#include "handles.hpp"
#include "limiter/make_store.hpp"
#include "text/number.hpp"
#include "tree/limit_text.hpp"

using namespace limitree;
using namespace limitree::capi;

#define LIMITREE_STRING_(x) #x
#define LIMITREE_STRING(x) LIMITREE_STRING_(x)

static_assert(sizeof(limitree_rate) == 128);
static_assert(LIMITREE_NEVER == kNever.count());
static_assert(LIMITREE_SOURCE_LEASE + 1 == kSourceCount);

namespace {

// Returned when there is no memory for another error.  Plain data: nothing to
// initialize at load, nothing to destroy at exit.
constinit limitree_error g_out_of_memory{nullptr};

struct StatusName {
  limitree_status status;
  Code code;  // the same in the core
  const char* name;
};

constexpr auto kStatusNames = std::to_array<StatusName>({
    {LIMITREE_OK, Code::kOk, "ok"},
    {LIMITREE_PENDING, Code::kPending, "pending"},
    {LIMITREE_INVALID_ARGUMENT, Code::kInvalidArgument, "invalid_argument"},
    {LIMITREE_INVALID_CONFIG, Code::kInvalidConfig, "invalid_config"},
    {LIMITREE_OUT_OF_MEMORY, Code::kOutOfMemory, "out_of_memory"},
    {LIMITREE_STORE_UNAVAILABLE, Code::kStoreUnavailable, "store_unavailable"},
    {LIMITREE_STORE_TIMEOUT, Code::kStoreTimeout, "store_timeout"},
    {LIMITREE_STORE_PROTOCOL, Code::kStoreProtocol, "store_protocol"},
    {LIMITREE_CANCELLED, Code::kCancelled, "cancelled"},
    {LIMITREE_UNKNOWN_ROOT, Code::kUnknownRoot, "unknown_root"},
    {LIMITREE_INTERNAL, Code::kInternal, "internal"},
});
static_assert(std::ranges::all_of(kStatusNames, [](const StatusName& one) {
  return same(one.status, one.code);
}));

limitree_rate to_rate(const TextRate& rate) {
  limitree_rate out = {};
  out.count = rate.count;
  out.period_ns = rate.period.count();
  out.burst = rate.capacity;
  if (const std::optional<Algorithm> algorithm = algorithm_of(rate)) {
    out.algorithm = 1 + static_cast<std::int32_t>(*algorithm);
  }
  // The name has two numbers, a time and an algorithm, so it fits.
  const std::string name = name_of(rate);
  out.size = static_cast<std::int32_t>(name.size());
  std::ranges::copy(name, out.name);
  return out;
}

}  // namespace

namespace limitree::capi {

void refuse_null(const char* name) {
  throw NullArgument{
      Status(Code::kInvalidArgument, std::string(name) + " must not be null")};
}

limitree_status give(Status status, limitree_error** error) noexcept {
  const auto code = static_cast<limitree_status>(status.code());
  if (error == nullptr) return code;
  try {
    auto owned = std::make_unique<const Error>(status.error());
    *error = new limitree_error{owned.get()};
    owned.release();
  } catch (const std::bad_alloc&) {
    return give_out_of_memory(error);
  }
  return code;
}

limitree_status give_out_of_memory(limitree_error** error) noexcept {
  if (error != nullptr) *error = &g_out_of_memory;
  return LIMITREE_OUT_OF_MEMORY;
}

}  // namespace limitree::capi

const char* limitree_version(void) {
  return LIMITREE_STRING(LIMITREE_VERSION_MAJOR) "." LIMITREE_STRING(
      LIMITREE_VERSION_MINOR) "." LIMITREE_STRING(LIMITREE_VERSION_PATCH);
}

int32_t limitree_abi_version(void) { return LIMITREE_ABI_VERSION; }

const char* limitree_openssl_version(void) { return openssl_version(); }

const char* limitree_algorithm_at(size_t index) {
  return index < kAlgorithms.size() ? kAlgorithms[index].rule : nullptr;
}

const char* limitree_status_name(limitree_status status) {
  const auto found =
      std::ranges::find(kStatusNames, status, &StatusName::status);
  return found == kStatusNames.end() ? "unknown" : found->name;
}

const char* limitree_source_name(int32_t source) {
  return source < 0 || source > LIMITREE_SOURCE_LEASE
             ? "unknown"
             : source_name(static_cast<Source>(source));
}

const char* limitree_mode_name(int32_t mode) {
  return mode < 0 || mode > LIMITREE_CHECK ? "unknown"
                                           : mode_name(static_cast<Mode>(mode));
}

void limitree_decision_cell(const limitree_decision* decision,
                            int64_t cell[5]) {
  if (decision == nullptr || cell == nullptr) return;
  Decision core;
  core.limited = decision->limited != 0;
  core.limit = decision->limit;
  core.remaining = decision->remaining;
  core.retry_after = Duration(decision->retry_after_ns);
  core.reset_after = Duration(decision->reset_after_ns);
  std::ranges::copy(to_throttle_reply(core), cell);
}

limitree_str limitree_text_str(const limitree_text* text) {
  if (text == nullptr) return {"", 0};
  return {text->text.c_str(), text->text.size()};
}

size_t limitree_text_warning_count(const limitree_text* text) {
  return text == nullptr ? 0 : text->warnings.size();
}

const char* limitree_text_warning_at(const limitree_text* text, size_t index) {
  if (index >= limitree_text_warning_count(text)) return nullptr;
  return text->warnings[index].c_str();
}

void limitree_text_free(limitree_text* text) { delete text; }

limitree_status limitree_error_status(const limitree_error* error) {
  if (error == nullptr) return LIMITREE_OK;
  if (error->error == nullptr) return LIMITREE_OUT_OF_MEMORY;
  return static_cast<limitree_status>(error->error->code);
}

const char* limitree_error_message(const limitree_error* error) {
  const char* const first = limitree_error_message_at(error, 0);
  return first != nullptr ? first : "";
}

const char* limitree_error_reason(const limitree_error* error) {
  if (error == nullptr || error->error == nullptr) return "";
  return error->error->reason;
}

size_t limitree_error_count(const limitree_error* error) {
  if (error == nullptr) return 0;
  return error->error == nullptr ? 1 : error->error->messages.size();
}

const char* limitree_error_message_at(const limitree_error* error,
                                      size_t index) {
  if (index >= limitree_error_count(error)) return nullptr;
  if (error->error == nullptr) return "out of memory";
  return error->error->messages[index].c_str();
}

void limitree_error_free(limitree_error* error) {
  if (error == nullptr || error == &g_out_of_memory) return;
  delete error->error;
  delete error;
}

limitree_status limitree_parse_duration(limitree_str text, int64_t* duration_ns,
                                        limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(text, "text.data", duration_ns, "duration_ns");
    Result<Duration> duration = parse_duration(view(text));
    if (!duration.ok()) return std::move(duration.status());
    if (duration.value() < Duration::zero()) {
      return Status(
          Code::kInvalidConfig,
          "must not be negative, is " + format_duration(duration.value()));
    }
    *duration_ns = duration.value().count();
    return {};
  });
}

limitree_status limitree_parse_go_duration(limitree_str text,
                                           int64_t* duration_ns,
                                           limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(text, "text.data", duration_ns, "duration_ns");
    const auto duration = parse_go_duration(view(text));
    if (!duration) {
      return Status(Code::kInvalidConfig,
                    "must be a duration such as 10s or 1h30m");
    }
    *duration_ns = duration->count();
    return {};
  });
}

limitree_status limitree_parse_rates(limitree_str text, limitree_rate* rates,
                                     size_t capacity, size_t* count,
                                     limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(text, "text.data", rates != nullptr || capacity == 0, "rates",
            count, "count");
    Result<std::vector<TextRate>> read = parse_rates(view(text));
    if (!read.ok()) return std::move(read.status());
    const std::vector<TextRate>& found = read.value();
    for (std::size_t i = 0; i < std::min(capacity, found.size()); ++i) {
      rates[i] = to_rate(found[i]);
    }
    *count = found.size();
    return {};
  });
}
