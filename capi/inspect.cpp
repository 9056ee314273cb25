// Texts about a limiter, and checks of its store.

#include <chrono>
#include <optional>

#include "convert.hpp"
#include "limiter/prometheus.hpp"

using limitree::Code;
using limitree::Result;
using limitree::Status;
using limitree::StoreFile;
using limitree::capi::guarded;
using limitree::capi::null_argument;
using limitree::capi::Question;

static_assert(sizeof(void*) != 8 || sizeof(limitree_store_file) == 128);

namespace {

limitree_text* text_of(std::string text) {
  return new limitree_text{std::move(text)};
}

}  // namespace

limitree_status limitree_limiter_prometheus(limitree_limiter* limiter,
                                            limitree_text** text,
                                            limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    *text = text_of(limitree::prometheus_text(limitree::read_counters(
        &limiter->limiter, limitree::kPrometheusScopes)));
    return {};
  });
}

limitree_status limitree_ping(limitree_limiter* limiter, int64_t* round_trip_ns,
                              limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    using std::chrono::steady_clock;
    const steady_clock::time_point start = steady_clock::now();
    Status status = limiter->limiter.ping();
    if (status.ok() && round_trip_ns != nullptr) {
      *round_trip_ns = limitree::Duration(steady_clock::now() - start).count();
    }
    return status;
  });
}

limitree_status limitree_limiter_store_file(limitree_limiter* limiter,
                                            limitree_store_file* file,
                                            limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (file == nullptr) return null_argument("file");
    const std::optional<StoreFile> core = limiter->limiter.store_file();
    if (!core.has_value()) {
      return Status(Code::kInvalidArgument, "the store is no file");
    }
    *file = {};
    file->path = {core->path.data(), core->path.size()};
    file->version = core->version;
    file->bytes = core->bytes;
    file->processes = core->processes;
    return {};
  });
}

limitree_status limitree_limiter_describe(limitree_limiter* limiter,
                                          limitree_text** text,
                                          limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    *text = text_of(limiter->limiter.describe());
    return {};
  });
}

limitree_status limitree_limiter_explain(limitree_limiter* limiter,
                                         const limitree_str* path,
                                         size_t path_size, limitree_text** text,
                                         limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    const limitree_path one = {path, path_size, 0};
    Question question;
    Status status = question.read({{&one, 1}});
    if (!status.ok()) return status;
    Result<std::string> explained =
        limiter->limiter.explain(question.asks()[0].path);
    if (!explained.ok()) return std::move(explained.status());
    *text = text_of(std::move(explained.value()));
    return {};
  });
}
