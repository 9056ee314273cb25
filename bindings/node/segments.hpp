// Reads the segments of a path from JavaScript strings.
//
// Strings are copied to the stack as UTF-16: the fastest lossless way that
// Node-API has.  Each still takes about 20 ns.

#pragma once

#include <napi.h>
#include <node_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.h"

namespace limitree::node {

// `text` as UTF-8; nothing if it contains an unpaired surrogate: UTF-8 cannot
// represent it, and two callers must not get the same name.
std::optional<std::string> to_utf8(const Napi::String& text);

class Segments {
 public:
  // Begins with a segment that is known already; its bytes are borrowed.
  void begin_with(limitree_str first) {
    few_[0] = first;
    size_ = 1;
  }

  // Appends `count` values.  Returns null, or what is wrong with one of them,
  // to be put after its name; *index is its index.  Static storage.
  const char* read(napi_env env, const napi_value* values, std::size_t count,
                   std::size_t* index);

  const limitree_str* data() const {
    return many_.empty() ? few_.data() : many_.data();
  }
  std::size_t size() const { return size_; }

 private:
  const char* read_one(napi_env env, napi_value value, limitree_str* segment);
  const char* read_other(napi_env env, napi_value value, limitree_str* segment);
  const char* keep(std::int64_t number, limitree_str* segment);
  bool keep_ascii(std::u16string_view text, limitree_str* segment);
  const char* keep_long(std::string text, limitree_str* segment);

  // Uninitialized until read.
  std::array<char, 512> text_;
  std::array<limitree_str, 8> few_;
  std::size_t size_ = 0;
  std::size_t used_ = 0;                             // of text_
  std::vector<limitree_str> many_;                   // replaces few_
  std::vector<std::unique_ptr<std::string>> longs_;  // replaces text_
};

}  // namespace limitree::node
