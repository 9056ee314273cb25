// JSON as google.protobuf.Struct.

#ifndef LIMITREE_SERVER_SERVICES_JSON_STRUCT_HPP
#define LIMITREE_SERVER_SERVICES_JSON_STRUCT_HPP

#include <protozero/pbf_writer.hpp>
#include <string_view>

namespace limitree::server {

// Writes the members of an object into the message *to, a Struct.  REQUIRES:
// `json` is an object, as the library writes it.
void write_struct(std::string_view json, protozero::pbf_writer* to);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_JSON_STRUCT_HPP
