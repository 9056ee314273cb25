#include "config/xds_resource.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/failure.hpp"
#include "json/writer.hpp"

namespace limitree::server {

namespace {

using protozero::pbf_reader;

// More than the loader takes, so that it says what is wrong.
constexpr int kMaxDepth = 64;

constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;

// A field that has another type than it should is not known.
constexpr std::uint32_t bytes(std::uint32_t field) {
  return protozero::tag_and_type(field,
                                 protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint32_t varint(std::uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t fixed64(std::uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::fixed64);
}

// Not get_bool(), which reads beyond a message that ends before the value.
bool is_set(pbf_reader* message) { return message->get_uint64() != 0; }

std::string_view view_of(protozero::data_view text) {
  return {text.data(), text.size()};
}

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

void write_struct(pbf_reader message, int depth, JsonWriter* out);

// A google.protobuf.Value.  Of several the last one counts.
void write_value(pbf_reader message, int depth, JsonWriter* out) {
  check_depth(depth);
  pbf_reader last;
  bool found = false;
  while (message.next()) {
    last = message;
    found = true;
    message.skip();
  }
  if (!found) {
    out->null();
    return;
  }
  switch (last.tag_and_type()) {
    case fixed64(2):
      write_number(last.get_double(), out);
      return;
    case bytes(3):
      out->text(view_of(last.get_view()));
      return;
    case varint(4):
      out->flag(is_set(&last));
      return;
    case bytes(5):
      write_struct(last.get_message(), depth + 1, out);
      return;
    case bytes(6): {
      pbf_reader list = last.get_message();
      out->begin_list();
      while (list.next(1, kBytes))
        write_value(list.get_message(), depth + 1, out);
      out->end_list();
      return;
    }
    default:
      out->null();
      return;
  }
}

// A google.protobuf.Struct.
void write_struct(pbf_reader message, int depth, JsonWriter* out) {
  check_depth(depth);
  out->begin_object();
  while (message.next(1, kBytes)) {
    pbf_reader entry = message.get_message();
    protozero::data_view name;
    pbf_reader value;
    while (entry.next()) {
      if (entry.tag_and_type() == bytes(1)) {
        name = entry.get_view();
      } else if (entry.tag_and_type() == bytes(2)) {
        value = entry.get_message();
      } else {
        entry.skip();
      }
    }
    out->any_key(view_of(name));
    write_value(value, depth + 1, out);
  }
  out->end_object();
}

void write_replaces(pbf_reader message, JsonWriter* out) {
  out->begin_object();
  while (message.next()) {
    if (message.tag_and_type() == bytes(1)) {
      out->key("name");
      out->text(view_of(message.get_view()));
    } else {
      message.skip();
    }
  }
  out->end_object();
}

void write_rule(pbf_reader message, JsonWriter* out) {
  std::int32_t unit = 0;
  std::uint32_t requests = 0;
  bool unlimited = false;
  protozero::data_view name;
  std::vector<pbf_reader> replaces;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(1):
        unit = message.get_enum();
        break;
      case varint(2):
        requests = message.get_uint32();
        break;
      case varint(3):
        unlimited = is_set(&message);
        break;
      case bytes(4):
        name = message.get_view();
        break;
      case bytes(5):
        replaces.push_back(message.get_message());
        break;
      default:
        message.skip();
    }
  }
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
  if (name.size() > 0) {
    out->key("name");
    out->text(view_of(name));
  }
  if (!replaces.empty()) {
    out->key("replaces");
    out->begin_list();
    for (const pbf_reader& one : replaces) write_replaces(one, out);
    out->end_list();
  }
  out->end_object();
}

// What a descriptor consists of.
struct Parts {
  protozero::data_view key;
  protozero::data_view value;
  std::vector<pbf_reader> rule;  // none or one
  std::vector<pbf_reader> descriptors;
  bool shadow_mode = false;
  bool detailed_metric = false;
  bool quota_mode = false;
  std::vector<pbf_reader> metadata;  // none or one
};

Parts parts_of(pbf_reader message) {
  Parts parts;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1):
        parts.key = message.get_view();
        break;
      case bytes(2):
        parts.value = message.get_view();
        break;
      case bytes(3):
        parts.rule = {message.get_message()};
        break;
      case bytes(4):
        parts.descriptors.push_back(message.get_message());
        break;
      case varint(5):
        parts.shadow_mode = is_set(&message);
        break;
      case varint(6):
        parts.detailed_metric = is_set(&message);
        break;
      case varint(7):
        parts.quota_mode = is_set(&message);
        break;
      case bytes(8):
        parts.metadata = {message.get_message()};
        break;
      default:
        message.skip();
    }
  }
  return parts;
}

void write_flag(std::string_view name, bool value, JsonWriter* out) {
  if (!value) return;
  out->key(name);
  out->flag(true);
}

void write_descriptors(const std::vector<pbf_reader>& messages, int depth,
                       JsonWriter* out) {
  check_depth(depth);
  if (messages.empty()) return;
  out->key("descriptors");
  out->begin_list();
  for (const pbf_reader& message : messages) {
    const Parts parts = parts_of(message);
    out->new_line();
    out->begin_object();
    out->key("key");
    out->text(view_of(parts.key));
    if (parts.value.size() > 0) {
      out->key("value");
      out->text(view_of(parts.value));
    }
    if (!parts.rule.empty()) {
      out->key("rate_limit");
      write_rule(parts.rule[0], out);
    }
    write_flag("shadow_mode", parts.shadow_mode, out);
    write_flag("detailed_metric", parts.detailed_metric, out);
    write_flag("quota_mode", parts.quota_mode, out);
    if (!parts.metadata.empty()) {
      out->key("metadata");
      write_struct(parts.metadata[0], depth, out);
    }
    write_descriptors(parts.descriptors, depth + 1, out);
    out->end_object();
  }
  out->end_list();
}

}  // namespace

SourceFile file_of(std::string_view message) {
  pbf_reader reader(message.data(), message.size());
  SourceFile file;
  protozero::data_view domain;
  std::vector<pbf_reader> descriptors;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes(1):
        file.name = view_of(reader.get_view());
        break;
      case bytes(2):
        domain = reader.get_view();
        break;
      case bytes(3):
        descriptors.push_back(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  JsonWriter out(&file.text);
  out.begin_object();
  out.key("domain");
  out.text(view_of(domain));
  write_descriptors(descriptors, 0, &out);
  out.end_object();
  file.text += '\n';
  return file;
}

}  // namespace limitree::server
