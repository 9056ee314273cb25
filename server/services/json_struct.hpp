// JSON as google.protobuf.Struct.

#ifndef LIMITREE_SERVER_SERVICES_JSON_STRUCT_HPP
#define LIMITREE_SERVER_SERVICES_JSON_STRUCT_HPP

#include <protozero/pbf_writer.hpp>
#include <string_view>

namespace limitree::server {

// Writes the members of an object into the message *to, a Struct.  Returns
// false, and has written nothing, if `json` is no object, or has a number that
// is too large for a double.
bool write_struct(std::string_view json, protozero::pbf_writer* to);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_JSON_STRUCT_HPP
