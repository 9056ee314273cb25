#include "services/proto_files.hpp"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "services/messages.hpp"

namespace limitree::server {

namespace {

// Numbers of fields in descriptor.proto.
constexpr protozero::pbf_tag_type kSetFile = 1;
constexpr protozero::pbf_tag_type kName = 1;  // of everything
constexpr protozero::pbf_tag_type kFilePackage = 2;
constexpr protozero::pbf_tag_type kFileDependency = 3;
constexpr protozero::pbf_tag_type kFileMessage = 4;
constexpr protozero::pbf_tag_type kFileEnum = 5;
constexpr protozero::pbf_tag_type kFileService = 6;
constexpr protozero::pbf_tag_type kMessageNested = 3;
constexpr protozero::pbf_tag_type kMessageEnum = 4;
constexpr protozero::pbf_tag_type kServiceMethod = 2;

constexpr unsigned char kOwnBytes[] = {
#include "descriptors.inc"
};

// The contents of all fields `tag`, which are texts or messages.
std::vector<std::string_view> all(std::string_view bytes,
                                  protozero::pbf_tag_type tag) {
  std::vector<std::string_view> found;
  protozero::pbf_reader reader = reader_of(bytes);
  while (reader.next()) {
    if (reader.tag() == tag) {
      found.push_back(view_of(reader.get_view()));
    } else {
      reader.skip();
    }
  }
  return found;
}

std::string text(std::string_view bytes, protozero::pbf_tag_type tag) {
  const std::vector<std::string_view> found = all(bytes, tag);
  return found.empty() ? std::string() : std::string(found.front());
}

// The full name of what `bytes` declare.
std::string name_in(const std::string& scope, std::string_view bytes) {
  const std::string name = text(bytes, kName);
  return scope.empty() ? name : scope + '.' + name;
}

}  // namespace

DescriptorIndex::DescriptorIndex(std::string_view files) {
  for (const std::string_view file : all(files, kSetFile)) add_file(file);
  std::sort(services_.begin(), services_.end());
}

const DescriptorIndex& DescriptorIndex::own() {
  static const DescriptorIndex index(
      {reinterpret_cast<const char*>(kOwnBytes), sizeof kOwnBytes});
  return index;
}

void DescriptorIndex::add_file(std::string_view bytes) {
  const std::string name = text(bytes, kName);
  const std::string package = text(bytes, kFilePackage);
  File& file = files_[name];
  file.bytes = bytes;
  for (const std::string_view needed : all(bytes, kFileDependency)) {
    file.needs.emplace_back(needed);
  }
  for (const std::string_view message : all(bytes, kFileMessage)) {
    add_message(message, package, name);
  }
  for (const std::string_view one : all(bytes, kFileEnum)) {
    add_named(one, package, name);
  }
  for (const std::string_view service : all(bytes, kFileService)) {
    add_service(service, package, name);
  }
}

void DescriptorIndex::add_named(std::string_view bytes,
                                const std::string& scope,
                                const std::string& file) {
  symbols_.emplace(name_in(scope, bytes), file);
}

void DescriptorIndex::add_message(std::string_view bytes,
                                  const std::string& scope,
                                  const std::string& file) {
  add_named(bytes, scope, file);
  const std::string name = name_in(scope, bytes);
  for (const std::string_view nested : all(bytes, kMessageNested)) {
    add_message(nested, name, file);
  }
  for (const std::string_view one : all(bytes, kMessageEnum)) {
    add_named(one, name, file);
  }
}

void DescriptorIndex::add_service(std::string_view bytes,
                                  const std::string& scope,
                                  const std::string& file) {
  add_named(bytes, scope, file);
  services_.push_back(name_in(scope, bytes));
  for (const std::string_view method : all(bytes, kServiceMethod)) {
    add_named(method, services_.back(), file);
  }
}

std::vector<std::string_view> DescriptorIndex::file(
    const std::string& name) const {
  std::vector<std::string> names = {name};
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto file = files_.find(names[i]);
    if (file == files_.end()) continue;
    found.push_back(file->second.bytes);
    for (const std::string& needed : file->second.needs) {
      if (std::find(names.begin(), names.end(), needed) == names.end()) {
        names.push_back(needed);
      }
    }
  }
  return found;
}

std::vector<std::string_view> DescriptorIndex::file_of(
    const std::string& symbol) const {
  const auto found = symbols_.find(symbol);
  return found == symbols_.end() ? std::vector<std::string_view>()
                                 : file(found->second);
}

}  // namespace limitree::server
