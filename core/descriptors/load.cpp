#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "descriptors/builder.hpp"
#include "descriptors/descriptors.hpp"
#include "descriptors/field_reader.hpp"
#include "descriptors/rule.hpp"
#include "descriptors/rule_reader.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"

namespace limitree {

namespace {

// Reads one file.
class FileReader {
 public:
  FileReader(const YamlDocument& document, DescriptorBuilder* builder,
             Problems* problems)
      : reader_(document, problems), builder_(*builder) {}

  void read();

 private:
  // A descriptor, and what is read of it after its keys are known.
  struct Parts {
    DescriptorDraft draft;
    bool key_refused = false;  // a mistake in it has been reported
    bool shadow_mode = false;
    bool quota_mode = false;
    bool detailed_metric = false;
    std::optional<YamlField> rate_limit;
    std::optional<YamlField> metadata;
    std::optional<YamlField> descriptors;
  };

  void read_below(std::uint32_t parent, const std::optional<YamlField>& list);
  void read_descriptor(std::uint32_t parent, std::size_t map);
  void take(const YamlField& field, Parts* parts);
  void read_envoy(Parts* parts);
  void check_share(const DescriptorDraft& draft, Mark mark);
  void check_hold(const DescriptorDraft& draft, Mark mark);

  FieldReader reader_;
  DescriptorBuilder& builder_;
  bool shadow_mode_ = false;  // of all rules of the file
};

void FileReader::read() {
  const YamlNode& root = reader_.node(0);
  if (!expect_kind(reader_.document(), root, YamlNode::Kind::kMapping,
                   "a mapping with domain and descriptors is expected",
                   &reader_.problems())) {
    return;
  }
  DomainDraft domain;
  domain.name.mark = root.mark;
  bool refused = false;
  std::optional<YamlField> descriptors;
  for (const YamlField& field : reader_.fields(0, KeyPlace::kRoot)) {
    if (field.key.text == "domain") {
      domain.name.mark = reader_.node(field.value).mark;
      refused = !reader_.read_text(field, &domain.name);
    } else if (field.key.text == "descriptors") {
      descriptors = field;
    } else {
      bool flag = false;
      reader_.read_bool(field, &flag);
      if (field.key.text == "shadow_mode") {
        shadow_mode_ = flag;
      } else {
        (field.key.text == "parents" ? domain.parents : domain.all_or_nothing) =
            flag;
      }
    }
  }
  if (domain.name.text.empty() && !refused) {
    reader_.add(domain.name.mark, "config file cannot have empty domain");
  }
  read_below(builder_.add_domain(domain), descriptors);
}

void FileReader::read_below(std::uint32_t parent,
                            const std::optional<YamlField>& list) {
  if (!list) return;
  for (const std::size_t item : reader_.items(*list)) {
    read_descriptor(parent, item);
  }
}

void FileReader::take(const YamlField& field, Parts* parts) {
  const std::string_view key = field.key.text;
  DescriptorDraft& draft = parts->draft;
  if (key == "key") {
    draft.key.mark = reader_.node(field.value).mark;
    parts->key_refused = !reader_.read_text(field, &draft.key);
  } else if (key == "value") {
    reader_.read_text(field, &draft.value);
  } else if (key == "rate_limit") {
    parts->rate_limit = field;
  } else if (key == "metadata") {
    parts->metadata = field;
  } else if (key == "descriptors") {
    parts->descriptors = field;
  } else {
    bool* const flag = key == "shadow_mode"       ? &parts->shadow_mode
                       : key == "quota_mode"      ? &parts->quota_mode
                       : key == "detailed_metric" ? &parts->detailed_metric
                       : key == "value_to_metric" ? &draft.value_to_metric
                       : key == "value_to_hold"   ? &draft.value_to_hold
                                                  : &draft.share_threshold;
    reader_.read_bool(field, flag);
  }
}

void FileReader::read_envoy(Parts* parts) {
  std::shared_ptr<const Metadata> metadata;
  if (parts->metadata) {
    metadata = read_metadata(reader_.document(), parts->metadata->value,
                             &reader_.problems());
  }
  if (!parts->rate_limit || !reader_.is_mapping(*parts->rate_limit)) return;
  Rule rule = read_rule(parts->rate_limit->value, &reader_);
  rule.shadow_mode = parts->shadow_mode || shadow_mode_;
  rule.quota_mode = parts->quota_mode;
  rule.detailed_metric = parts->detailed_metric;
  rule.metadata = std::move(metadata);
  if (rule.shadow_mode) rule.limit.mode = Mode::kShadow;
  parts->draft.rule = std::move(rule);
}

void FileReader::check_share(const DescriptorDraft& draft, Mark mark) {
  if (!draft.share_threshold) return;
  std::string composite(draft.key.text);
  if (!draft.value.text.empty()) composite += '_';
  composite += draft.value.text;
  if (composite.find('*') != composite.npos) return;
  reader_.add(mark,
              "share_threshold can only be used with wildcard values "
              "(containing '*'), but found key '" +
                  legible(composite) + "'");
}

// All values name holds, and metrics must not grow with each of them.
void FileReader::check_hold(const DescriptorDraft& draft, Mark mark) {
  if (!draft.value_to_hold) return;
  const char* other = !draft.value.text.empty() ? "value"
                      : draft.value_to_metric   ? "value_to_metric"
                                                : nullptr;
  if (other == nullptr) return;
  reader_.add(
      mark, std::string("value_to_hold and ") + other + " exclude each other");
}

void FileReader::read_descriptor(std::uint32_t parent, std::size_t map) {
  Parts parts;
  DescriptorDraft& draft = parts.draft;
  draft.key.mark = reader_.node(map).mark;
  for (const YamlField& field : reader_.fields(map, KeyPlace::kDescriptor)) {
    take(field, &parts);
  }
  if (draft.key.text.empty() && !parts.key_refused) {
    reader_.add(draft.key.mark, "descriptor has empty key");
  }
  read_envoy(&parts);
  check_share(draft, draft.key.mark);
  check_hold(draft, draft.key.mark);
  const auto node = builder_.add(parent, std::move(draft));
  if (node) read_below(*node, parts.descriptors);
}

}  // namespace

Result<Descriptors> load_descriptors(std::span<const DescriptorFile> files) {
  Problems problems;
  DescriptorBuilder builder(&problems);
  std::vector<std::string_view> names;
  for (const DescriptorFile& file : files) {
    names.push_back(file.name);
    builder.begin_file(file.name, file.merges);
    problems.set_text(names.size() - 1, file.yaml);
    YamlDocument document;
    if (document.read(file.yaml, &problems, "the key \"domain\"",
                      YamlForm::kReferences)) {
      FileReader(document, &builder, &problems).read();
    }
  }
  Descriptors descriptors = builder.finish();
  if (!problems.empty()) return problems.to_status(names);
  return descriptors;
}

}  // namespace limitree
