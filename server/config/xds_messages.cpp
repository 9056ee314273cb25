#include "config/xds_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <protozero/pbf_writer.hpp>

#include "config/xds_resource.hpp"
#include "grpc/messages.hpp"
#include "io/failure.hpp"
#include "limitree.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

using protozero::pbf_writer;

constexpr std::string_view kType =
    "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
// Servers log it.
constexpr std::size_t kMaxError = 4096;
constexpr std::int32_t kInvalidArgument = 3;  // of google.rpc.Code

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
SourceFile resource_of(std::string_view any) {
  std::string type;
  std::string_view value;
  read_message(any, field(1, &type), field(2, &value));
  if (type != kType) throw Failure("has the type '" + type + "'");
  return file_of(value);
}

void read_resource(std::string_view any, XdsResponse* response) {
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

void read(std::string_view message, XdsResponse* response) {
  std::vector<std::string_view> resources;
  read_message(message, field(1, &response->version), field(2, &resources),
               field(5, &response->nonce));
  for (const std::string_view one : resources) read_resource(one, response);
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
    read(message, &response);
  } catch (const protozero::exception&) {
    response.error = "no valid protobuf message";
  } catch (const Failure& failure) {
    response.error = failure.what();
  }
  return response;
}

}  // namespace limitree::server
