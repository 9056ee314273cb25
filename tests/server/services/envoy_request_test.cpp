#include <gtest/gtest.h>

#include <protozero/exception.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "services/requests.hpp"

namespace limitree::server {
namespace {

std::string text(const limitree_str& from) { return {from.data, from.size}; }

using Entries = std::vector<std::string>;

Entries entries_of(const limitree_descriptor& descriptor) {
  Entries entries;
  for (std::size_t i = 0; i < descriptor.entry_count; ++i) {
    entries.push_back(text(descriptor.entries[i].key) + '=' +
                      text(descriptor.entries[i].value));
  }
  return entries;
}

void add_entry(protozero::pbf_writer* descriptor, const std::string& key,
               const std::string& value) {
  protozero::pbf_writer entry(*descriptor, 1);
  entry.add_string(1, key);
  entry.add_string(2, value);
}

TEST(EnvoyRequest, EmptyMeansNothing) {
  EnvoyRequest request;
  request.read("");
  EXPECT_EQ(request.get().domain.size, 0u);
  EXPECT_EQ(request.get().descriptor_count, 0u);
  EXPECT_EQ(request.get().hits_addend, 0u);
}

std::string full_request() {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  {
    protozero::pbf_writer descriptor(to, 2);
    add_entry(&descriptor, "path", "/search");
    add_entry(&descriptor, "user", "");
  }
  {
    protozero::pbf_writer descriptor(to, 2);
    add_entry(&descriptor, "ip", "192.0.2.1");
    {
      protozero::pbf_writer limit(descriptor, 2);
      limit.add_uint32(1, 42);
      limit.add_enum(2, LIMITREE_UNIT_HOUR);
      protozero::pbf_writer multiplier(limit, 3);
      multiplier.add_uint32(1, 12);
    }
    {
      protozero::pbf_writer hits(descriptor, 3);
      hits.add_uint64(1, UINT64_MAX);
    }
    descriptor.add_bool(4, true);
  }
  to.add_string(1, "apis");
  to.add_uint32(3, 7);
  return bytes;
}

TEST(EnvoyRequest, ReadsAllFields) {
  const std::string bytes = full_request();
  EnvoyRequest reader;
  reader.read(bytes);
  const limitree_envoy_request& request = reader.get();
  EXPECT_EQ(text(request.domain), "apis");
  EXPECT_EQ(request.hits_addend, 7u);
  EXPECT_EQ(request.flags, 0u);
  ASSERT_EQ(request.descriptor_count, 2u);
  const limitree_descriptor& first = request.descriptors[0];
  EXPECT_EQ(entries_of(first), (Entries{"path=/search", "user="}));
  EXPECT_EQ(first.flags, 0u);
  const limitree_descriptor& second = request.descriptors[1];
  EXPECT_EQ(entries_of(second), (Entries{"ip=192.0.2.1"}));
  EXPECT_EQ(second.flags,
            std::uint32_t{LIMITREE_HAS_LIMIT | LIMITREE_HAS_HITS_ADDEND |
                          LIMITREE_NEGATIVE_HITS});
  EXPECT_EQ(second.requests_per_unit, 42u);
  EXPECT_EQ(second.unit, LIMITREE_UNIT_HOUR);
  EXPECT_EQ(second.unit_multiplier, 12u);
  EXPECT_EQ(second.hits_addend, UINT64_MAX);
}

TEST(EnvoyRequest, NothingIsLeftOfTheOneBefore) {
  EnvoyRequest reader;
  const std::string bytes = full_request();
  reader.read(bytes);
  reader.read(std::string_view("\x0a\x01x\x12\x04\x0a\x02\x0a\x00", 9));
  EXPECT_EQ(text(reader.get().domain), "x");
  EXPECT_EQ(reader.get().hits_addend, 0u);
  ASSERT_EQ(reader.get().descriptor_count, 1u);
  EXPECT_EQ(entries_of(reader.get().descriptors[0]), (Entries{"="}));
  EXPECT_EQ(reader.get().descriptors[0].flags, 0u);
}

TEST(EnvoyRequest, AnEmptyMessageIsThere) {
  // Proto3 does not write zeros: a limit of 0 of an unknown unit, 0 hits.
  EnvoyRequest reader;
  reader.read(std::string_view("\x12\x04\x12\x00\x1a\x00", 6));
  ASSERT_EQ(reader.get().descriptor_count, 1u);
  const limitree_descriptor& descriptor = reader.get().descriptors[0];
  EXPECT_EQ(descriptor.flags,
            std::uint32_t{LIMITREE_HAS_LIMIT | LIMITREE_HAS_HITS_ADDEND});
  EXPECT_EQ(descriptor.requests_per_unit, 0u);
  EXPECT_EQ(descriptor.hits_addend, 0u);
}

TEST(EnvoyRequest, SkipsFieldsThatItDoesNotKnow) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  to.add_string(99, "new");
  to.add_fixed32(3, 1);  // of another type
  {
    protozero::pbf_writer descriptor(to, 2);
    descriptor.add_string(99, "new");
    descriptor.add_int32(1, 1);
    {
      protozero::pbf_writer limit(descriptor, 2);
      limit.add_string(9, "new");
    }
    {
      protozero::pbf_writer hits(descriptor, 3);
      hits.add_string(9, "new");
    }
    protozero::pbf_writer entry(descriptor, 1);
    entry.add_string(3, "new");
    entry.add_string(1, "key");
  }
  EnvoyRequest reader;
  reader.read(bytes);
  EXPECT_EQ(reader.get().hits_addend, 0u);
  ASSERT_EQ(reader.get().descriptor_count, 1u);
  EXPECT_EQ(entries_of(reader.get().descriptors[0]), (Entries{"key="}));
}

std::string repeated(std::string_view part, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += part;
  return bytes;
}

TEST(EnvoyRequest, KnowsWhenItIsTooLarge) {
  EnvoyRequest reader;
  const std::string_view empty("\x12\x00", 2);
  reader.read(repeated(empty, 4096));
  EXPECT_FALSE(reader.is_too_large());
  reader.read(repeated(empty, 4097));
  EXPECT_TRUE(reader.is_too_large());
  for (const std::size_t count : {65'536u, 65'537u}) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_message(
        2, repeated(std::string_view("\x0a\x00", 2), count));
    reader.read(bytes);
    EXPECT_EQ(reader.is_too_large(), count == 65'537u);
  }
}

TEST(EnvoyRequest, MalformedBytesThrow) {
  EnvoyRequest reader;
  for (const std::string_view bytes :
       {std::string_view("\x0a\x05x", 3),
        std::string_view("\x12\x02\x0a\x05", 4),
        std::string_view("\x12\x02\x12\x05", 4),
        std::string_view("\x12\x02\x1a\x05", 4),
        std::string_view("\x12\x04\x0a\x02\x0a\x05", 6),
        std::string_view("\x12\x01\x20", 3), std::string_view("\x00\x01", 2),
        std::string_view("\x18", 1)}) {
    // In memory that ends with them.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    EXPECT_THROW(reader.read({exact.data(), exact.size()}),
                 protozero::exception);
  }
}

}  // namespace
}  // namespace limitree::server
