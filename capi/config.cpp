// limitree_config: the options of a limiter, before the limiter exists.

#include <span>

#include "handles.hpp"

using namespace limitree;
using namespace limitree::capi;

namespace {

// Adds the text `yaml` to `limits`, and sets both in `config`.  If there is a
// mistake, the config does not change.
Status take_limits(limitree_config* config, std::vector<OwnedText> limits,
                   limitree_str yaml, limitree_str origin) {
  require(yaml, "yaml.data", origin, "origin.data");
  limits.push_back({std::string(view(yaml)), std::string(view(origin))});

  std::vector<LimitsText> texts;
  texts.reserve(limits.size());
  for (const OwnedText& one : limits) texts.push_back({one.text, one.name});
  Result<Tree> tree = load_tree(texts);
  if (!tree.ok()) return std::move(tree.status());
  config->tree = std::make_shared<const Tree>(std::move(tree.value()));
  config->limits = std::move(limits);
  return {};
}

}  // namespace

limitree_config* limitree_config_new(void) {
  try {
    return new limitree_config;
  } catch (...) {
    return nullptr;
  }
}

void limitree_config_free(limitree_config* config) { delete config; }

const char* limitree_option_at(size_t index) { return option_at(index); }

limitree_status limitree_config_set(limitree_config* config, const char* name,
                                    limitree_str value,
                                    limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config", name, "name", value, "value.data");
    return set_option(name, view(value), &config->options);
  });
}

limitree_status limitree_config_check(const limitree_config* config,
                                      limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config");
    return check_options(config->options);
  });
}

limitree_status limitree_config_set_limits(limitree_config* config,
                                           limitree_str yaml,
                                           limitree_str origin,
                                           limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config");
    return take_limits(config, {}, yaml, origin);
  });
}

limitree_status limitree_config_add_limits(limitree_config* config,
                                           limitree_str yaml,
                                           limitree_str origin,
                                           limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config");
    return take_limits(config, config->limits, yaml, origin);
  });
}

limitree_status limitree_config_add_descriptors(limitree_config* config,
                                                const limitree_file* files,
                                                size_t file_count,
                                                int32_t merge,
                                                limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config", files != nullptr || file_count == 0, "files");
    std::vector<OwnedText> all = config->files;
    for (const limitree_file& file : std::span(files, file_count)) {
      require(file.text, "text.data", file.name, "name.data");
      all.push_back({std::string(view(file.text)), std::string(view(file.name)),
                     merge != 0});
    }
    std::vector<DescriptorFile> read;
    read.reserve(all.size());
    for (const OwnedText& file : all) {
      read.push_back({file.text, file.name, file.merges});
    }
    Result<Descriptors> descriptors = load_descriptors(read);
    if (!descriptors.ok()) return std::move(descriptors.status());
    config->descriptors =
        std::make_shared<const Descriptors>(std::move(descriptors.value()));
    config->files = std::move(all);
    return {};
  });
}

limitree_status limitree_config_set_completion(
    limitree_config* config, limitree_completion_fn on_completion,
    void* user_data, void (*free_user_data)(void* user_data),
    limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config", on_completion, "on_completion");
    config->completion_data = owned(user_data, free_user_data);
    config->on_completion = on_completion;
    return {};
  });
}

limitree_status limitree_config_set_log(limitree_config* config,
                                        limitree_log_fn log, void* user_data,
                                        void (*free_user_data)(void* user_data),
                                        limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config", log, "log");
    config->options.log = [log, data = owned(user_data, free_user_data)](
                              LogEvent event, std::string_view text) {
      log(static_cast<std::int32_t>(event), {text.data(), text.size()},
          data.get());
    };
    return {};
  });
}

limitree_status limitree_config_set_clock(limitree_config* config,
                                          limitree_clock_fn now_ns,
                                          void* user_data,
                                          limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config");
    config->options.clock =
        now_ns == nullptr ? Clock() : Clock(now_ns, user_data);
    return {};
  });
}
