// Texts about a limiter and about limits, and checks of its store.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "convert.hpp"
#include "limiter/counters.hpp"
#include "tree/boulder.hpp"

using namespace limitree;
using namespace limitree::capi;

static_assert(sizeof(void*) != 8 || sizeof(limitree_store_file) == 128);

limitree_status limitree_limiter_prometheus(limitree_limiter* limiter,
                                            limitree_text** text,
                                            limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", text, "text");
    return give(
        prometheus_text(read_counters(&limiter->limiter, kPrometheusScopes)),
        text);
  });
}

limitree_status limitree_ping(limitree_limiter* limiter, int64_t* round_trip_ns,
                              limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter");
    using std::chrono::steady_clock;
    const steady_clock::time_point start = steady_clock::now();
    Status status = limiter->limiter.ping();
    if (status.ok() && round_trip_ns != nullptr) {
      *round_trip_ns = Duration(steady_clock::now() - start).count();
    }
    return status;
  });
}

limitree_status limitree_limiter_store_file(limitree_limiter* limiter,
                                            limitree_store_file* file,
                                            limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", file, "file");
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
    require(limiter, "limiter", text, "text");
    return give(limiter->limiter.describe(), text);
  });
}

namespace {

// Writes what `explain` says about a path.
limitree_status explain_path(limitree_limiter* limiter,
                             const limitree_str* path, size_t path_size,
                             Result<std::string> (Limiter::*explain)(Path),
                             limitree_text** text, limitree_error** error) {
  return with_path(limiter, path, path_size, error, [&](Path segments) {
    require(text, "text");
    return give((limiter->limiter.*explain)(segments), text);
  });
}

}  // namespace

limitree_status limitree_limiter_explain(limitree_limiter* limiter,
                                         const limitree_str* path,
                                         size_t path_size, limitree_text** text,
                                         limitree_error** error) {
  return explain_path(limiter, path, path_size, &Limiter::explain, text, error);
}

limitree_status limitree_limiter_list_holds(limitree_limiter* limiter,
                                            const limitree_str* path,
                                            size_t path_size,
                                            limitree_text** text,
                                            limitree_error** error) {
  return explain_path(limiter, path, path_size, &Limiter::list_holds, text,
                      error);
}

limitree_status limitree_limiter_describe_descriptors(limitree_limiter* limiter,
                                                      limitree_text** text,
                                                      limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", text, "text");
    return give(limiter->limiter.descriptors()->describe(), text);
  });
}

limitree_status limitree_limiter_explain_descriptor(
    limitree_limiter* limiter, limitree_str domain,
    const limitree_entry* entries, size_t entry_count, limitree_text** text,
    limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", domain, "domain.data");
    EntryList all;
    append(entries, entry_count, &all);
    require(text, "text");
    return give(limiter->limiter.descriptors()->explain(
                    view(domain), {all.data(), all.size()}),
                text);
  });
}

limitree_status limitree_limits_from_descriptors(const limitree_config* config,
                                                 limitree_text** yaml,
                                                 limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config", yaml, "yaml");
    if (config->descriptors->domains().empty()) {
      return Status(Code::kInvalidArgument, "config has no descriptors");
    }
    std::vector<std::string> lost;
    std::string text = limits_from_descriptors(*config->descriptors, &lost);
    return give(std::move(text), yaml, std::move(lost));
  });
}

limitree_status limitree_limits_from_boulder(limitree_str defaults,
                                             limitree_str defaults_origin,
                                             limitree_str overrides,
                                             limitree_str overrides_origin,
                                             limitree_text** yaml,
                                             limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(yaml, "yaml", defaults, "defaults.data", defaults_origin,
            "defaults_origin.data", overrides, "overrides.data",
            overrides_origin, "overrides_origin.data");
    std::vector<std::string> warnings;
    Result<std::string> text = limits_from_boulder(
        {view(defaults), view(defaults_origin)},
        {view(overrides), view(overrides_origin)}, &warnings);
    return give(std::move(text), yaml, std::move(warnings));
  });
}
