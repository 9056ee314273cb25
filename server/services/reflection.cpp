#include "services/reflection.hpp"

#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "grpc/call.hpp"
#include "services/messages.hpp"

namespace limitree::server {

namespace {

// Numbers of fields in reflection.proto.
enum RequestField : protozero::pbf_tag_type {
  kHost = 1,
  kFileByFilename = 3,
  kFileContainingSymbol = 4,
  kFileContainingExtension = 5,
  kAllExtensionNumbersOfType = 6,
  kListServices = 7,
};

enum ResponseField : protozero::pbf_tag_type {
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
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    const protozero::pbf_tag_type tag = reader.tag();
    const bool is_text =
        reader.wire_type() == protozero::pbf_wire_type::length_delimited;
    if (is_text && tag == kHost) {
      question.host = view_of(reader.get_view());
    } else if (is_text && tag >= kFileByFilename && tag <= kListServices) {
      question.kind = tag;
      question.text = view_of(reader.get_view());
    } else {
      reader.skip();
    }
  }
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

void ReflectionService::add_to(MethodTable* methods) {
  for (const char* const version : {"v1", "v1alpha"}) {
    methods->add(std::string("/grpc.reflection.") + version +
                     ".ServerReflection/ServerReflectionInfo",
                 this);
  }
}

void ReflectionService::on_message(Call* call, std::string_view message) {
  Question question;
  if (!read_or_refuse(call, [&] { question = read_question(message); })) return;
  protozero::pbf_writer response(*call->begin_message());
  response.add_string(kValidHost, question.host);
  response.add_bytes(kOriginalRequest, message.data(), message.size());
  answer(question, *index_, &response);
  call->end_message();
}

}  // namespace limitree::server
