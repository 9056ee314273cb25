// Parsed JSON: values in one array, in the order of the text.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace limitree::server {

// What is wrong with a request: "paths[0].cost: must be a number".
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class JsonKind : std::uint8_t {
  kNull,
  kFalse,
  kTrue,
  kInteger,   // from -2^63 to 2^63 - 1
  kUnsigned,  // from 2^63 to 2^64 - 1
  kReal,
  kText,
  kList,
  kObject,
};

// The memory is reused for one text after the other.
class JsonDocument {
 public:
  struct Value {
    JsonKind kind;
    std::size_t begin = 0;  // of a text
    std::size_t end = 0;    // of a text, or: the value after this one
    std::int64_t integer = 0;
    std::uint64_t whole = 0;  // kUnsigned
    double real = 0;
  };

  // Throws JsonError, which says what is wrong and at which byte, unless `text`
  // is one value and valid UTF-8.
  void read(std::string_view text);

  std::size_t size() const { return values_.size(); }
  const Value& at(std::size_t index) const { return values_[index]; }
  // The content of a text, without a terminating zero.
  std::string_view text(const Value& value) const {
    return std::string_view(texts_).substr(value.begin,
                                           value.end - value.begin);
  }

 private:
  friend struct JsonEvents;

  std::vector<Value> values_;
  std::vector<std::size_t> open_;  // lists and objects that have not ended
  std::string texts_;
};

// A place in a document, for functions that read a request.  All of them throw
// JsonError, which names the place.
class JsonPlace {
 public:
  explicit JsonPlace(const JsonDocument& document)
      : document_(&document), value_(&document.at(0)) {}

  JsonKind kind() const { return value_->kind; }
  bool is_null() const { return kind() == JsonKind::kNull; }

  std::string_view text() const;
  bool flag() const;
  // A number without a fraction, or a text with such a number: proto3 JSON
  // writes large numbers as texts.
  std::int64_t integer(std::int64_t least, std::int64_t greatest) const;
  std::uint64_t whole(std::uint64_t greatest) const;

  // Calls `use(item)` for each item of a list.
  template <typename Use>
  void each_item(const Use& use) const;
  // Calls `use(key, value)` for each member of an object.  Refuses keys that
  // occur twice; `use` refuses unknown keys with fail_unknown().
  template <typename Use>
  void each_member(const Use& use) const;

  [[noreturn]] void fail(std::string_view what) const;
  // For the value of a member.
  [[noreturn]] void fail_unknown() const;

 private:
  JsonPlace(const JsonPlace* parent, const JsonDocument::Value* value)
      : document_(parent->document_), value_(value), parent_(parent) {}

  void require(JsonKind kind, std::string_view what) const;
  template <typename Number>
  Number number(Number least, Number greatest) const;
  std::size_t index() const {
    return static_cast<std::size_t>(value_ - &document_->at(0));
  }
  // The index after the value at `index`.
  std::size_t after(std::size_t index) const;
  void check_once(std::size_t key) const;
  std::string where() const;

  const JsonDocument* document_;
  const JsonDocument::Value* value_;
  const JsonPlace* parent_ = nullptr;
  std::string_view key_;    // in the parent, if that is an object
  std::size_t number_ = 0;  // in the parent, if that is a list
};

template <typename Use>
void JsonPlace::each_item(const Use& use) const {
  require(JsonKind::kList, "a list");
  std::size_t number = 0;
  for (std::size_t i = index() + 1; i < value_->end; i = after(i)) {
    JsonPlace item(this, &document_->at(i));
    item.number_ = number++;
    use(item);
  }
}

template <typename Use>
void JsonPlace::each_member(const Use& use) const {
  require(JsonKind::kObject, "an object");
  for (std::size_t i = index() + 1; i < value_->end; i = after(i + 1)) {
    check_once(i);
    JsonPlace member(this, &document_->at(i + 1));
    member.key_ = document_->text(document_->at(i));
    use(member.key_, member);
  }
}

}  // namespace limitree::server
