#include "config/xds_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "config/xds_resource.hpp"
#include "io/failure.hpp"
#include "limitree.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

constexpr std::string_view kType =
    "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
// Servers log it.
constexpr std::size_t kMaxError = 4096;
constexpr std::int32_t kInvalidArgument = 3;  // of google.rpc.Code

constexpr std::uint32_t bytes(std::uint32_t field) {
  return protozero::tag_and_type(field,
                                 protozero::pbf_wire_type::length_delimited);
}

std::string text_of(protozero::data_view text) {
  return {text.data(), text.size()};
}

void write_text(pbf_writer* to, std::uint32_t tag, std::string_view text) {
  if (!text.empty()) to->add_string(tag, text.data(), text.size());
}

// Servers do not read messages whose texts are not UTF-8.
std::string error_text(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (made.size() + std::max<std::size_t>(size, 1) > kMaxError) break;
    made += size == 0 ? "_" : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return made;
}

// An envoy.config.core.v3.Node.
void write_node(const XdsSettings& settings, pbf_writer* request) {
  pbf_writer node(*request, 2);
  write_text(&node, 1, settings.node_id);
  if (!settings.node_metadata.empty()) {
    pbf_writer metadata(node, 3);
    for (const auto& [name, value] : settings.node_metadata) {
      pbf_writer entry(metadata, 1);
      write_text(&entry, 1, name);
      pbf_writer text(entry, 2);
      text.add_string(3, value);
    }
  }
  write_text(&node, 6, "limitree");
  write_text(&node, 7, limitree_version());
}

// A google.protobuf.Any.
SourceFile resource_of(pbf_reader any) {
  std::string type;
  protozero::data_view value;
  while (any.next()) {
    if (any.tag_and_type() == bytes(1)) {
      type = text_of(any.get_view());
    } else if (any.tag_and_type() == bytes(2)) {
      value = any.get_view();
    } else {
      any.skip();
    }
  }
  if (type != kType) throw Failure("has the type '" + type + "'");
  return file_of({value.data(), value.size()});
}

void read_resource(pbf_reader any, XdsResponse* response) {
  const std::string number = std::to_string(response->files.size() + 1);
  try {
    response->files.push_back(resource_of(any));
  } catch (const protozero::exception&) {
    throw Failure("resource " + number + ": no valid protobuf message");
  } catch (const Failure& failure) {
    throw Failure("resource " + number + ": " + failure.what());
  }
  std::string& name = response->files.back().name;
  // Messages begin with it, each of them a line.
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char one) { return one < ' ' || one == 0x7f; }, '_');
  if (name.empty()) name = "resource " + number;
}

void read(pbf_reader message, XdsResponse* response) {
  std::vector<pbf_reader> resources;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1):
        response->version = text_of(message.get_view());
        break;
      case bytes(2):
        resources.push_back(message.get_message());
        break;
      case bytes(5):
        response->nonce = text_of(message.get_view());
        break;
      default:
        message.skip();
    }
  }
  for (const pbf_reader& one : resources) read_resource(one, response);
}

}  // namespace

void write_request(const XdsRequest& request, const XdsSettings& settings,
                   std::string* out) {
  pbf_writer to(*out);
  write_text(&to, 1, request.version);
  write_node(settings, &to);
  write_text(&to, 4, kType);
  write_text(&to, 5, request.nonce);
  if (request.error.empty()) return;
  pbf_writer status(to, 6);
  status.add_int32(1, kInvalidArgument);
  status.add_string(2, error_text(request.error));
}

XdsResponse read_response(std::string_view message) {
  XdsResponse response;
  try {
    read(pbf_reader(message.data(), message.size()), &response);
  } catch (const protozero::exception&) {
    response.error = "no valid protobuf message";
  } catch (const Failure& failure) {
    response.error = failure.what();
  }
  return response;
}

}  // namespace limitree::server
