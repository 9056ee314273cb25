#include "services/reflection.hpp"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "grpc/call.hpp"
#include "grpc/messages.hpp"

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
  read_message(bytes, field(tag, &found));
  return found;
}

std::string text(std::string_view bytes, protozero::pbf_tag_type tag) {
  const std::vector<std::string_view> found = all(bytes, tag);
  return found.empty() ? std::string() : std::string(found.front());
}

// Numbers of fields in reflection.proto.
enum RequestField : protozero::pbf_tag_type {
  kHost = 1,
  kFileByFilename = 3,
  kFileContainingSymbol = 4,
  kFileContainingExtension = 5,
  kAllExtensionNumbersOfType = 6,
  kListServices = 7,
};

enum ReflectionField : protozero::pbf_tag_type {
  kValidHost = 1,
  kOriginalRequest = 2,
  kFileDescriptorResponse = 4,
  kListServicesResponse = 6,
  kErrorResponse = 7,
};

struct Question {
  std::string host;
  protozero::pbf_tag_type kind = 0;  // of the field that asks
  std::string text;
};

Question read_question(std::string_view message) {
  Question question;
  const auto asks = [&](protozero::pbf_tag_type kind) {
    return field(kind, [&question, kind](std::string_view text) {
      question.kind = kind;
      question.text = text;
    });
  };
  read_message(message, field(kHost, &question.host), asks(kFileByFilename),
               asks(kFileContainingSymbol), asks(kFileContainingExtension),
               asks(kAllExtensionNumbersOfType), asks(kListServices));
  return question;
}

void add_error(protozero::pbf_writer* response, GrpcCode code,
               const std::string& message) {
  protozero::pbf_writer error(*response, kErrorResponse);
  error.add_int32(1, static_cast<std::int32_t>(code));
  error.add_string(2, message);
}

void add_files(protozero::pbf_writer* response,
               const std::vector<std::string_view>& files,
               const std::string& sought) {
  if (files.empty()) {
    add_error(response, GrpcCode::kNotFound, "there is no " + sought);
    return;
  }
  protozero::pbf_writer found(*response, kFileDescriptorResponse);
  for (const std::string_view file : files) {
    found.add_bytes(1, file.data(), file.size());
  }
}

void add_services(protozero::pbf_writer* response,
                  const std::vector<std::string>& names) {
  protozero::pbf_writer list(*response, kListServicesResponse);
  for (const std::string& name : names) {
    protozero::pbf_writer service(list, 1);
    service.add_string(1, name);
  }
}

void answer(const Question& question, const DescriptorIndex& index,
            protozero::pbf_writer* response) {
  switch (question.kind) {
    case kFileByFilename:
      add_files(response, index.file(question.text), question.text);
      break;
    case kFileContainingSymbol:
      add_files(response, index.file_of(question.text), question.text);
      break;
    case kListServices:
      add_services(response, index.services());
      break;
    case kFileContainingExtension:
    case kAllExtensionNumbersOfType:
      add_error(response, GrpcCode::kNotFound, "there are no extensions");
      break;
    default:
      add_error(response, GrpcCode::kInvalidArgument, "nothing is asked");
      break;
  }
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
    add_symbol(one, package, name);
  }
  for (const std::string_view service : all(bytes, kFileService)) {
    services_.push_back(add_symbol(service, package, name));
    for (const std::string_view method : all(service, kServiceMethod)) {
      add_symbol(method, services_.back(), name);
    }
  }
}

std::string DescriptorIndex::add_symbol(std::string_view bytes,
                                        const std::string& scope,
                                        const std::string& file) {
  std::string name = (scope.empty() ? "" : scope + '.') + text(bytes, kName);
  symbols_.emplace(name, file);
  return name;
}

void DescriptorIndex::add_message(std::string_view bytes,
                                  const std::string& scope,
                                  const std::string& file) {
  const std::string name = add_symbol(bytes, scope, file);
  for (const std::string_view nested : all(bytes, kMessageNested)) {
    add_message(nested, name, file);
  }
  for (const std::string_view one : all(bytes, kMessageEnum)) {
    add_symbol(one, name, file);
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

void add_reflection(const DescriptorIndex* index, MethodTable* methods) {
  const auto on_message = [index](Call* call, std::string_view message) {
    const Question question = read_question(message);
    protozero::pbf_writer response(*call->begin_message());
    response.add_string(kValidHost, question.host);
    response.add_bytes(kOriginalRequest, message.data(), message.size());
    answer(question, *index, &response);
    call->end_message();
  };
  for (const char* const version : {"v1", "v1alpha"}) {
    methods->add(std::string("/grpc.reflection.") + version +
                     ".ServerReflection/ServerReflectionInfo",
                 {MethodKind::kBidirectional, on_message});
  }
}

}  // namespace limitree::server
