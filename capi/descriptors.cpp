// Descriptors: the configuration of envoyproxy/ratelimit.

#include "descriptors/descriptors.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/inline_vector.hpp"
#include "handles.hpp"

using limitree::Code;
using limitree::DescriptorFile;
using limitree::Descriptors;
using limitree::Entry;
using limitree::InlineVector;
using limitree::Result;
using limitree::Status;
using limitree::capi::guarded;
using limitree::capi::null_argument;
using limitree::capi::OwnedFile;
using limitree::capi::view;

namespace {

// Appends copies of `files` to *all.
Status copy(std::span<const limitree_file> files, bool merges,
            std::vector<OwnedFile>* all) {
  for (const limitree_file& file : files) {
    const auto text = view(file.text);
    if (!text) return null_argument("text.data");
    const auto name = view(file.name);
    if (!name) return null_argument("name.data");
    all->push_back({std::string(*text), std::string(*name), merges});
  }
  return {};
}

}  // namespace

limitree_status limitree_config_add_descriptors(limitree_config* config,
                                                const limitree_file* files,
                                                size_t file_count,
                                                int32_t merge,
                                                limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (config == nullptr) return null_argument("config");
    if (files == nullptr && file_count != 0) return null_argument("files");
    std::vector<OwnedFile> all = config->files;
    if (Status status = copy({files, file_count}, merge != 0, &all);
        !status.ok()) {
      return status;
    }
    std::vector<DescriptorFile> read;
    read.reserve(all.size());
    for (const OwnedFile& file : all) {
      read.push_back({file.text, file.name, file.merges});
    }
    Result<Descriptors> descriptors = limitree::load_descriptors(read);
    if (!descriptors.ok()) return std::move(descriptors.status());
    config->descriptors =
        std::make_shared<const Descriptors>(std::move(descriptors.value()));
    config->files = std::move(all);
    return {};
  });
}

limitree_status limitree_limits_from_descriptors(const limitree_config* config,
                                                 limitree_text** yaml,
                                                 limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (config == nullptr) return null_argument("config");
    if (yaml == nullptr) return null_argument("yaml");
    if (config->descriptors->domains().empty()) {
      return Status(Code::kInvalidArgument, "config has no descriptors");
    }
    std::vector<std::string> lost;
    std::string text =
        limitree::limits_from_descriptors(*config->descriptors, &lost);
    *yaml = new limitree_text{std::move(text), std::move(lost)};
    return {};
  });
}

limitree_status limitree_limiter_describe_descriptors(limitree_limiter* limiter,
                                                      limitree_text** text,
                                                      limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    *text = new limitree_text{limiter->limiter.descriptors()->describe()};
    return {};
  });
}

limitree_status limitree_limiter_explain_descriptor(
    limitree_limiter* limiter, limitree_str domain,
    const limitree_entry* entries, size_t entry_count, limitree_text** text,
    limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    const auto name = view(domain);
    if (!name) return null_argument("domain.data");
    if (entries == nullptr && entry_count != 0) {
      return null_argument("entries");
    }
    if (text == nullptr) return null_argument("text");
    InlineVector<Entry, 8> all;
    for (const limitree_entry& entry : std::span(entries, entry_count)) {
      const auto key = view(entry.key);
      if (!key) return null_argument("key.data");
      const auto value = view(entry.value);
      if (!value) return null_argument("value.data");
      all.push_back({*key, *value});
    }
    *text = new limitree_text{limiter->limiter.descriptors()->explain(
        *name, {all.data(), all.size()})};
    return {};
  });
}
