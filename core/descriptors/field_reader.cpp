#include "descriptors/field_reader.hpp"

#include "base/status.hpp"
#include "descriptors/metadata.hpp"
#include "text/number.hpp"

namespace limitree {

namespace {

using Kind = YamlNode::Kind;

}  // namespace

// Whether a value says nothing, or has been refused.
bool FieldReader::is_absent(const YamlNode& value) const {
  return value.kind == Kind::kRefused || document_.is_null(value);
}

bool FieldReader::is_good(const YamlNode& key, KeyPlace place) {
  if (key.kind != Kind::kScalar) return false;  // reported by the YAML reader
  const std::string_view text = document_.text(key);
  if (key.plain && (text.empty() || text == "<<")) return false;  // likewise
  if (plain_kind(document_, key) != PlainKind::kText) {
    add(key.mark,
        "config error, key is not of type string: " + printable(text));
    return false;
  }
  std::string wrong = wrong_key(text, place);
  if (wrong.empty()) return true;
  add(key.mark, std::move(wrong));
  return false;
}

void FieldReader::read_mapping(std::size_t map, KeyPlace place,
                               const Take& take) {
  for (std::size_t key = map + 1; key < node(map).end;) {
    const std::size_t value = node(key).end;
    if (is_good(node(key), place)) {
      take({{document_.text(node(key)), node(key).mark}, value});
    }
    key = node(value).end;
  }
}

void FieldReader::read_list(const Field& field, const TakeItem& take) {
  const YamlNode& list = node(field.value);
  if (is_absent(list)) return;
  if (list.kind != Kind::kSequence) {
    add(list.mark, std::string(field.key.text) + " must be a list, is " +
                       document_.describe(list));
    return;
  }
  for (std::size_t i = field.value + 1; i < list.end; i = node(i).end) {
    const YamlNode& item = node(i);
    if (item.kind == Kind::kRefused) continue;
    if (item.kind == Kind::kMapping) {
      take(i);
      continue;
    }
    add(item.mark,
        "config error, yaml file contains list of type other than map: " +
            (item.kind == Kind::kScalar ? printable(document_.text(item))
                                        : document_.describe(item)));
  }
}

bool FieldReader::is_mapping(const Field& field) {
  const YamlNode& value = node(field.value);
  if (value.kind == Kind::kMapping) return true;
  if (is_absent(value)) return false;
  add(value.mark, std::string(field.key.text) + " must be a mapping, is " +
                      document_.describe(value));
  return false;
}

bool FieldReader::read_text(const Field& field, Value* value) {
  const YamlNode& scalar = node(field.value);
  if (is_absent(scalar)) return scalar.kind != Kind::kRefused;
  const std::string key(field.key.text);
  const auto read =
      read_scalar(document_, scalar, key + " must be a text", &problems_);
  if (!read) return false;
  if (plain_kind(document_, scalar) == PlainKind::kDecimal) {
    add(scalar.mark, "error checking config: " + key + " " + quote(read->text) +
                         " must be in quotes");
    return false;
  }
  *value = *read;
  return true;
}

void FieldReader::read_bool(const Field& field, bool* value) {
  const YamlNode& scalar = node(field.value);
  if (is_absent(scalar)) return;
  if (scalar.kind == Kind::kScalar && scalar.plain) {
    if (const auto read = parse_bool(document_.text(scalar))) {
      *value = *read;
      return;
    }
  }
  add(scalar.mark, std::string(field.key.text) + " must be true or false, is " +
                       document_.describe(scalar));
}

void FieldReader::read_number(const Field& field, std::uint32_t* value) {
  const YamlNode& scalar = node(field.value);
  if (is_absent(scalar)) return;
  const std::string key(field.key.text);
  const auto text = read_scalar(document_, scalar,
                                key + " must be a whole number", &problems_);
  if (!text) return;
  Result<std::int64_t> number = parse_integer(text->text, 0);
  if (!number.ok()) {
    add(text->mark, key + " " + number.status().error().messages.front());
  } else if (number.value() > UINT32_MAX) {
    add(text->mark, key + " must not exceed " + std::to_string(UINT32_MAX) +
                        ", is " + std::to_string(number.value()));
  } else {
    *value = static_cast<std::uint32_t>(number.value());
  }
}

}  // namespace limitree
