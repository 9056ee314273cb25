#include "ietf.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#include "level.hpp"
#include "limitree.h"

namespace limitree::python {

namespace {

// Rounded up: a wait that ends within a second has not ended before.
std::int64_t whole_seconds(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return ns / kSecond + (ns % kSecond > 0 ? 1 : 0);
}

// Appends `policy` as a string of a structured field: printable ASCII as it is,
// other bytes as %XX. In a policy `%` has that meaning already.
void append_quoted(std::string* text, std::string_view policy) {
  *text += '"';
  for (const char byte : policy) {
    if (byte >= ' ' && byte <= '~') {
      if (byte == '"' || byte == '\\') *text += '\\';
      *text += byte;
      continue;
    }
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto value = static_cast<unsigned char>(byte);
    *text += {'%', kDigits[value >> 4], kDigits[value & 15]};
  }
  *text += '"';
}

struct Texts {
  std::string policy;
  std::string state;

  void append(const limitree_level& level, std::string_view name) {
    if (!policy.empty()) {
      policy += ", ";
      state += ", ";
    }
    const std::size_t begin = policy.size();
    append_quoted(&policy, name);
    state.append(policy, begin);
    policy += ";q=" + std::to_string(level.limit);
    policy += ";w=" + std::to_string(whole_seconds(level.window_ns));
    state += ";r=" + std::to_string(level.remaining);
    if (level.grows_after_ns > 0) {
      state += ";t=" + std::to_string(whole_seconds(level.grows_after_ns));
    }
  }
};

// Returns false, with a Python error set, unless `object` has its text.
bool append(Texts* texts, const LevelObject& object) {
  Py_ssize_t size = 0;
  const char* const name = PyUnicode_AsUTF8AndSize(object.policy, &size);
  if (name == nullptr) return false;
  texts->append(object.level, {name, static_cast<std::size_t>(size)});
  return true;
}

PyObject* pair(const char* name, const std::string& value) {
  // Py_BuildValue steals the reference, and returns null if it is null.
  return Py_BuildValue(
      "(sN)", name,
      PyUnicode_DecodeASCII(value.data(), static_cast<Py_ssize_t>(value.size()),
                            nullptr));
}

PyObject* list_of(const Texts& texts) {
  if (texts.policy.empty()) return PyList_New(0);
  PyObject* const policy = pair("RateLimit-Policy", texts.policy);
  PyObject* const state = pair("RateLimit", texts.state);
  return Py_BuildValue("[NN]", policy, state);
}

}  // namespace

PyObject* ietf_headers(PyObject* levels) {
  try {
    Texts texts;
    const Py_ssize_t count = PyTuple_GET_SIZE(levels);
    for (Py_ssize_t i = 0; i < count; ++i) {
      const auto& object =
          *reinterpret_cast<LevelObject*>(PyTuple_GET_ITEM(levels, i));
      if (object.level.mode == LIMITREE_SHADOW) continue;
      if (!append(&texts, object)) return nullptr;
    }
    return list_of(texts);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

}  // namespace limitree::python
