// Any bytes as an answer of an xDS server.
//
// What is read without an error is text that the loader reads, too, or refuses
// with the name of the resource and a place in it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "config/xds_messages.hpp"
#include "limitree.hpp"

namespace {

void require(bool fact) {
  if (!fact) std::abort();
}

// Wraps `config` as the only resource of an answer.
std::string answer_with(std::string_view config) {
  const auto field = [](char tag, std::string_view bytes) {
    std::string made(1, tag);
    for (std::size_t rest = bytes.size(); true; rest >>= 7) {
      made += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
      if (rest <= 127) break;
    }
    return made.append(bytes);
  };
  constexpr std::string_view kType =
      "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
  return field(0x12, field(0x0a, kType) + field(0x12, config));
}

void load(const limitree::server::XdsResponse& response) {
  limitree::Config config;
  std::vector<limitree_file> files;
  for (const limitree::server::SourceFile& file : response.files) {
    files.push_back({limitree::to_str(file.text), limitree::to_str(file.name)});
  }
  try {
    config.add_descriptors(files, true);
  } catch (const limitree::Error& error) {
    require(error.status() == LIMITREE_INVALID_CONFIG);
    for (const std::string& message : error.messages()) {
      require(message.find(':') != message.npos);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string& message : {bytes, answer_with(bytes)}) {
    const limitree::server::XdsResponse response =
        limitree::server::read_response(message);
    if (response.error.empty()) load(response);
  }
  return 0;
}
