#include "trace/resource.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <protozero/pbf_writer.hpp>
#include <set>

#include "trace/tracer.hpp"

namespace limitree::server {

namespace {

using protozero::pbf_writer;

// The numbers of the fields, by their messages.
enum SignalRequest : protozero::pbf_tag_type { kOfResource = 1 };
enum OfResource : protozero::pbf_tag_type { kTheResource = 1, kOfScope = 2 };
enum OfScope : protozero::pbf_tag_type { kTheScope = 1 };
enum TheScope : protozero::pbf_tag_type { kNameOfScope = 1 };
enum TheResource : protozero::pbf_tag_type { kOfTheResource = 1 };
enum KeyValue : protozero::pbf_tag_type { kKey = 1, kValue = 2 };
enum AnyValue : protozero::pbf_tag_type { kString = 1, kInt = 3 };

// A random UUID, version 4.
std::string make_uuid() {
  std::array<std::uint8_t, 16> bytes;
  RandomBytes().fill(bytes);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

}  // namespace

void add_attribute(protozero::pbf_tag_type tag, std::string_view name,
                   std::string_view value, std::string* to) {
  pbf_writer all(*to);
  pbf_writer attribute(all, tag);
  attribute.add_string(kKey, name.data(), name.size());
  pbf_writer any(attribute, kValue);
  any.add_string(kString, value.data(), value.size());
}

void add_attribute(protozero::pbf_tag_type tag, std::string_view name,
                   std::int64_t value, std::string* to) {
  pbf_writer all(*to);
  pbf_writer attribute(all, tag);
  attribute.add_string(kKey, name.data(), name.size());
  pbf_writer any(attribute, kValue);
  any.add_int64(kInt, value);
}

std::string resource_message(const OtlpResource& resource) {
  std::string message;
  std::set<std::string, std::less<>> added;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!added.insert(name).second) return;
    add_attribute(kOfTheResource, name, value, &message);
  };
  add("service.name", resource.service_name);
  if (!resource.service_namespace.empty()) {
    add("service.namespace", resource.service_namespace);
  }
  add("service.instance.id", resource.service_instance_id.empty()
                                 ? make_uuid()
                                 : resource.service_instance_id);
  const OtlpPairs more =
      otlp_pairs("OTEL_RESOURCE_ATTRIBUTES", resource.attributes);
  for (const auto& [name, value] : more) add(name, value);
  return message;
}

std::string signal_message(std::string_view resource, std::string_view items) {
  std::string of_scope;
  {
    pbf_writer writer(of_scope);
    pbf_writer scope(writer, kTheScope);
    scope.add_string(kNameOfScope, "limitree");
  }
  of_scope += items;
  std::string text;
  pbf_writer request(text);
  pbf_writer of_resource(request, kOfResource);
  of_resource.add_message(kTheResource, resource.data(), resource.size());
  of_resource.add_message(kOfScope, of_scope);
  of_resource.commit();
  return text;
}

}  // namespace limitree::server
