#include "config/xds_resource.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "grpc/messages.hpp"
#include "io/failure.hpp"
#include "json/writer.hpp"

namespace limitree::server {

namespace {

// More than the loader takes, so that it says what is wrong.
constexpr int kMaxDepth = 64;

void check_depth(int depth) {
  if (depth > kMaxDepth) throw Failure("the message is too deep");
}

std::string unit_text(std::int32_t unit) {
  static constexpr std::string_view kUnits[] = {
      "UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"};
  if (unit >= 0 && unit < static_cast<std::int32_t>(std::size(kUnits))) {
    return std::string(kUnits[unit]);
  }
  return std::to_string(unit);
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

// A google.protobuf.Value.  Of several the last one counts.
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
  if (!name.empty()) {
    out->key("name");
    out->text(name);
  }
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
  if (unit != 0 || !unlimited) {
    out->key("unit");
    out->text(unit_text(unit));
  }
  if (unlimited) {
    out->key("unlimited");
    out->flag(true);
  } else {
    out->key("requests_per_unit");
    out->whole(requests);
  }
  if (!name.empty()) {
    out->key("name");
    out->text(name);
  }
  if (!replaces.empty()) {
    out->key("replaces");
    out->begin_list();
    for (const std::string_view one : replaces) write_replaces(one, out);
    out->end_list();
  }
  out->end_object();
}

void write_flag(std::string_view name, bool value, JsonWriter* out) {
  if (!value) return;
  out->key(name);
  out->flag(true);
}

void write_descriptors(const std::vector<std::string_view>& messages, int depth,
                       JsonWriter* out);

void write_descriptor(std::string_view message, int depth, JsonWriter* out) {
  std::string_view key;
  std::string_view value;
  std::vector<std::string_view> rules;  // of these and of metadata the last
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
  out->key("key");
  out->text(key);
  if (!value.empty()) {
    out->key("value");
    out->text(value);
  }
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

}  // namespace

SourceFile file_of(std::string_view message) {
  SourceFile file;
  std::string_view domain;
  std::vector<std::string_view> descriptors;
  read_message(message, field(1, &file.name), field(2, &domain),
               field(3, &descriptors));
  JsonWriter out(&file.text);
  out.begin_object();
  out.key("domain");
  out.text(domain);
  write_descriptors(descriptors, 0, &out);
  out.end_object();
  file.text += '\n';
  return file;
}

}  // namespace limitree::server
