#include "config/xds_messages.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <protozero/pbf_writer.hpp>

#include "base/utf8.hpp"
#include "grpc/messages.hpp"
#include "io/failure.hpp"
#include "json/writer.hpp"
#include "limitree.hpp"

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
std::string utf8_error(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
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

// ---- A configuration as the text of a file ----------------------------------

// More than the loader takes, so that the loader reports the error.
constexpr int kMaxDepth = 64;

void check_depth(int depth) {
  if (depth > kMaxDepth) throw Failure("the message is too deep");
}

std::string unit_text(std::int32_t unit) {
  const std::string name = limitree_unit_name(unit);
  const bool has_name = unit == LIMITREE_UNIT_UNKNOWN ||
                        name != limitree_unit_name(LIMITREE_UNIT_UNKNOWN);
  return has_name ? name : std::to_string(unit);
}

void write_number(double number, JsonWriter* out) {
  if (!std::isfinite(number)) {
    throw Failure("metadata has a number that is not finite");
  }
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  out->json({text, static_cast<std::size_t>(end - text)});
}

void write_struct(std::string_view message, int depth, JsonWriter* out);

// A google.protobuf.Value.  If there are several fields, the last one counts.
void write_value(std::string_view message, int depth, JsonWriter* out) {
  using protozero::pbf_wire_type;
  using protozero::tag_and_type;
  check_depth(depth);
  protozero::pbf_reader reader(message.data(), message.size());
  protozero::pbf_reader last;
  bool found = false;
  while (reader.next()) {
    last = reader;
    found = true;
    reader.skip();
  }
  if (!found) return out->null();
  switch (last.tag_and_type()) {
    case tag_and_type(2, pbf_wire_type::fixed64):
      return write_number(last.get_double(), out);
    case tag_and_type(3, pbf_wire_type::length_delimited):
      return out->text(view_of(last.get_view()));
    case tag_and_type(4, pbf_wire_type::varint):
      return out->flag(last.get_uint64() != 0);
    case tag_and_type(5, pbf_wire_type::length_delimited):
      return write_struct(view_of(last.get_view()), depth + 1, out);
    case tag_and_type(6, pbf_wire_type::length_delimited): {
      std::vector<std::string_view> items;
      read_message(view_of(last.get_view()), field(1, &items));
      out->begin_list();
      for (const std::string_view one : items) write_value(one, depth + 1, out);
      return out->end_list();
    }
    default:
      return out->null();
  }
}

// A google.protobuf.Struct.
void write_struct(std::string_view message, int depth, JsonWriter* out) {
  check_depth(depth);
  std::vector<std::string_view> entries;
  read_message(message, field(1, &entries));
  out->begin_object();
  for (const std::string_view entry : entries) {
    std::string_view name;
    std::string_view value;
    read_message(entry, field(1, &name), field(2, &value));
    out->any_key(name);
    write_value(value, depth + 1, out);
  }
  out->end_object();
}

void write_replaces(std::string_view message, JsonWriter* out) {
  std::string_view name;
  read_message(message, field(1, &name));
  out->begin_object();
  if (!name.empty()) out->text("name", name);
  out->end_object();
}

void write_rule(std::string_view message, JsonWriter* out) {
  std::int32_t unit = 0;
  std::uint32_t requests = 0;
  bool unlimited = false;
  std::string_view name;
  std::vector<std::string_view> replaces;
  read_message(message, field(1, &unit), field(2, &requests),
               field(3, &unlimited), field(4, &name), field(5, &replaces));
  out->begin_object();
  if (unit != 0 || !unlimited) out->text("unit", unit_text(unit));
  if (unlimited) {
    out->flag("unlimited", true);
  } else {
    out->whole("requests_per_unit", requests);
  }
  if (!name.empty()) out->text("name", name);
  if (!replaces.empty()) {
    out->key("replaces");
    out->begin_list();
    for (const std::string_view one : replaces) write_replaces(one, out);
    out->end_list();
  }
  out->end_object();
}

void write_flag(std::string_view name, bool value, JsonWriter* out) {
  if (value) out->flag(name, true);
}

void write_descriptors(const std::vector<std::string_view>& messages, int depth,
                       JsonWriter* out);

void write_descriptor(std::string_view message, int depth, JsonWriter* out) {
  std::string_view key;
  std::string_view value;
  std::vector<std::string_view> rules;  // the last one counts
  std::vector<std::string_view> descriptors;
  bool shadow_mode = false;
  bool detailed_metric = false;
  bool quota_mode = false;
  std::vector<std::string_view> metadata;
  read_message(message, field(1, &key), field(2, &value), field(3, &rules),
               field(4, &descriptors), field(5, &shadow_mode),
               field(6, &detailed_metric), field(7, &quota_mode),
               field(8, &metadata));
  out->new_line();
  out->begin_object();
  out->text("key", key);
  if (!value.empty()) out->text("value", value);
  if (!rules.empty()) {
    out->key("rate_limit");
    write_rule(rules.back(), out);
  }
  write_flag("shadow_mode", shadow_mode, out);
  write_flag("detailed_metric", detailed_metric, out);
  write_flag("quota_mode", quota_mode, out);
  if (!metadata.empty()) {
    out->key("metadata");
    write_struct(metadata.back(), depth, out);
  }
  write_descriptors(descriptors, depth + 1, out);
  out->end_object();
}

void write_descriptors(const std::vector<std::string_view>& messages, int depth,
                       JsonWriter* out) {
  check_depth(depth);
  if (messages.empty()) return;
  out->key("descriptors");
  out->begin_list();
  for (const std::string_view one : messages) write_descriptor(one, depth, out);
  out->end_list();
}

// Reads a ratelimit.config.ratelimit.v3.RateLimitConfig.  The text has the same
// keys as a file, in flow style and with a line for each descriptor, so that
// one loader reads both.  Throws protozero::exception if `message` is
// malformed, and Failure if it is too deep.
SourceFile file_of(std::string_view message) {
  SourceFile file;
  std::string_view domain;
  std::vector<std::string_view> descriptors;
  read_message(message, field(1, &file.name), field(2, &domain),
               field(3, &descriptors));
  JsonWriter out(&file.text);
  out.begin_object();
  out.text("domain", domain);
  write_descriptors(descriptors, 0, &out);
  out.end_object();
  file.text += '\n';
  return file;
}

// ---- Answers ----------------------------------------------------------------

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
  // Messages begin with this name, and each message is one line.
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
  status.add_string(2, utf8_error(request.error));
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
