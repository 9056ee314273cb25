#include "services/envoy_request.hpp"

#include "services/messages.hpp"

namespace limitree::server {

namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kText = pbf_wire_type::length_delimited;
constexpr auto kNumber = pbf_wire_type::varint;

// Empty ones take two bytes each in the message, and many times that here.
constexpr std::size_t kMaxDescriptors = 4096;
constexpr std::size_t kMaxEntries = 65'536;

limitree_str text_of(protozero::pbf_reader* reader) {
  const std::string_view text = view_of(reader->get_view());
  return {text.data(), text.size()};
}

void read_override(std::string_view message, limitree_descriptor* descriptor) {
  descriptor->flags |= LIMITREE_HAS_LIMIT;
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kNumber):
        descriptor->requests_per_unit = reader.get_uint32();
        break;
      case tag_and_type(2, kNumber):
        descriptor->unit = reader.get_enum();
        break;
      default:
        reader.skip();
        break;
    }
  }
}

void read_hits(std::string_view message, limitree_descriptor* descriptor) {
  descriptor->flags |= LIMITREE_HAS_HITS_ADDEND;
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    if (reader.tag_and_type() == tag_and_type(1, kNumber)) {
      descriptor->hits_addend = reader.get_uint64();
    } else {
      reader.skip();
    }
  }
}

void set_flag(bool value, std::uint32_t flag, std::uint32_t* flags) {
  *flags = value ? *flags | flag : *flags & ~flag;
}

}  // namespace

void EnvoyRequest::read(std::string_view message) {
  clear();
  is_too_large_ = false;
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText):
        request_.domain = text_of(&reader);
        break;
      case tag_and_type(2, kText):
        read_descriptor(view_of(reader.get_view()));
        break;
      case tag_and_type(3, kNumber):
        request_.hits_addend = reader.get_uint32();
        break;
      default:
        reader.skip();
        break;
    }
  }
  finish();
}

void EnvoyRequest::read_descriptor(std::string_view message) {
  if (descriptors_.size() == kMaxDescriptors) {
    is_too_large_ = true;
    return;
  }
  const std::size_t first = entries_.size();
  limitree_descriptor descriptor{};
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText):
        read_entry(view_of(reader.get_view()));
        break;
      case tag_and_type(2, kText):
        read_override(view_of(reader.get_view()), &descriptor);
        break;
      case tag_and_type(3, kText):
        read_hits(view_of(reader.get_view()), &descriptor);
        break;
      case tag_and_type(4, kNumber):
        set_flag(flag_of(&reader), LIMITREE_NEGATIVE_HITS, &descriptor.flags);
        break;
      default:
        reader.skip();
        break;
    }
  }
  descriptor.entry_count = entries_.size() - first;
  descriptors_.push_back(descriptor);
}

void EnvoyRequest::read_entry(std::string_view message) {
  if (entries_.size() == kMaxEntries) {
    is_too_large_ = true;
    return;
  }
  limitree_entry entry{};
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText):
        entry.key = text_of(&reader);
        break;
      case tag_and_type(2, kText):
        entry.value = text_of(&reader);
        break;
      default:
        reader.skip();
        break;
    }
  }
  entries_.push_back(entry);
}

}  // namespace limitree::server
