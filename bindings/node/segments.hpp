// The segments of a path, read out of JavaScript's strings.
//
// Strings come as UTF-16 into the stack: of the ways that Node-API has it is
// the quickest one that loses nothing.  Each takes some 20 ns all the same.

#ifndef LIMITREE_NODE_SEGMENTS_HPP
#define LIMITREE_NODE_SEGMENTS_HPP

#include <node_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.h"

namespace limitree::node {

// Appends UTF-8 for `text` to *out.  False if a surrogate stands alone in it:
// nothing in UTF-8 stands for that, and callers must not be taken for others.
bool append_utf8(std::u16string_view text, std::string* out);

class Segments {
 public:
  // Begins with a segment that need not be read; its bytes are borrowed.
  void begin_with(limitree_str first) {
    few_[0] = first;
    size_ = 1;
  }

  // Appends `count` values.  Returns what is wrong with one of them, to be put
  // after its name, or null; *index is which.  Static storage.
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
  const char* keep(std::u16string_view text, limitree_str* segment);
  const char* keep_long(std::string text, limitree_str* segment);

  // Left as they are until read.
  std::array<char, 512> text_;
  std::array<limitree_str, 8> few_;
  std::size_t size_ = 0;
  std::size_t used_ = 0;                             // of text_
  std::vector<limitree_str> many_;                   // instead of few_
  std::vector<std::unique_ptr<std::string>> longs_;  // instead of text_
};

}  // namespace limitree::node

#endif  // LIMITREE_NODE_SEGMENTS_HPP
