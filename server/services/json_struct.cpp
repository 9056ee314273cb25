#include "services/json_struct.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace limitree::server {

namespace {

using Json = nlohmann::ordered_json;
using protozero::pbf_writer;

// Numbers of fields in struct.proto.
enum ValueField : protozero::pbf_tag_type {
  kNull = 1,
  kNumber = 2,
  kText = 3,
  kBool = 4,
  kStruct = 5,
  kList = 6,
};

void write_value(const Json& value, pbf_writer* to);

void write_members(const Json& object, pbf_writer* to) {
  for (const auto& [key, value] : object.items()) {
    pbf_writer member(*to, 1);
    member.add_string(1, key);
    pbf_writer content(member, 2);
    write_value(value, &content);
  }
}

void write_items(const Json& list, pbf_writer* to) {
  for (const Json& item : list) {
    pbf_writer content(*to, 1);
    write_value(item, &content);
  }
}

// Zeros are written, too: which field is there tells the kind.
void write_value(const Json& value, pbf_writer* to) {
  if (value.is_object()) {
    pbf_writer content(*to, kStruct);
    write_members(value, &content);
  } else if (value.is_array()) {
    pbf_writer content(*to, kList);
    write_items(value, &content);
  } else if (value.is_string()) {
    to->add_string(kText, value.get_ref<const std::string&>());
  } else if (value.is_boolean()) {
    to->add_bool(kBool, value.get<bool>());
  } else if (value.is_number()) {
    to->add_double(kNumber, value.get<double>());
  } else {
    to->add_enum(kNull, 0);
  }
}

}  // namespace

bool write_struct(std::string_view json, pbf_writer* to) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return false;
  write_members(object, to);
  return true;
}

}  // namespace limitree::server
