// Parts of messages of OpenTelemetry that all signals have.

#pragma once

#include <cstdint>
#include <protozero/types.hpp>
#include <string>
#include <string_view>

#include "trace/settings.hpp"

namespace limitree::server {

// Appends a KeyValue as field `tag`.
void add_attribute(protozero::pbf_tag_type tag, std::string_view name,
                   std::string_view value, std::string* to);
void add_attribute(protozero::pbf_tag_type tag, std::string_view name,
                   std::int64_t value, std::string* to);

// The Resource, the same for all signals of a process.  The first attribute of
// a name counts.  Throws Failure if `attributes` are wrong.
std::string resource_message(const OtlpResource& resource);

// Spans and metrics have the same number in what their scope sent.
inline constexpr protozero::pbf_tag_type kOfSignal = 2;

// The request of one signal, whose spans or metrics are in `items`.
std::string signal_message(std::string_view resource, std::string_view items);

}  // namespace limitree::server
