#include "request.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace limitree::node {

bool Request::read(napi_env env, napi_callback_info info) {
  std::array<napi_value, 8> few;
  std::vector<napi_value> many;
  napi_value* values = few.data();
  std::size_t count = few.size();
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, values, nullptr, &data);
  native = static_cast<Native*>(data);
  if (count > few.size()) {
    many.resize(count);
    values = many.data();
    napi_get_cb_info(env, info, &count, values, nullptr, nullptr);
  }
  if (native->is_closed()) {
    return refuse(LIMITREE_CANCELLED, "the limiter is closed");
  }
  numbers = native->environment().numbers();
  operation = static_cast<std::int32_t>(numbers[kOperation]);
  cost = static_cast<std::int64_t>(numbers[kCost]);
  flags = static_cast<unsigned>(numbers[kFlags]);
  path_count = static_cast<std::size_t>(numbers[kPaths]);
  const auto root = static_cast<std::size_t>(numbers[kRoot]);
  if (root != 0) segments.begin_with(native->roots().at(root));
  std::size_t index = 0;
  const char* const wrong = segments.read(env, values, count, &index);
  if (wrong != nullptr) {
    const std::size_t end = count + (root != 0 ? 1 : 0) - unit_count();
    const std::string place =
        index < end ? place_of(index) : "the name of a unit";
    return refuse(LIMITREE_INVALID_ARGUMENT, place + " " + wrong);
  }
  return true;
}

Paths Request::paths() const {
  if (has_one_path()) {
    return Paths({segments.data(), segments.size() - unit_count(), cost,
                  LIMITREE_PART_CHARGE});
  }
  std::vector<limitree_path> paths;
  const limitree_str* next = segments.data();
  const double* number = numbers + kInputSize;
  for (std::size_t i = kOnePath; i < path_count; ++i, number += kPathSize) {
    const auto size = static_cast<std::size_t>(number[kSegments]);
    paths.push_back({next, size, static_cast<std::int64_t>(number[kPathCost]),
                     static_cast<std::int32_t>(number[kPathPart])});
    next += size;
  }
  return Paths(std::move(paths));
}

std::vector<limitree_cost> Request::costs() const {
  std::vector<limitree_cost> costs;
  const std::size_t count = unit_count();
  const limitree_str* const names = segments.data() + segments.size() - count;
  for (std::size_t i = 0; i < count; ++i) {
    costs.push_back(
        {names[i], static_cast<std::int64_t>(numbers[kUnitCosts + i])});
  }
  return costs;
}

// The name of that segment in error messages: "path[1]".
std::string Request::place_of(std::size_t segment) const {
  if (has_receipt()) return "receipt";
  if (path_count == kUserAndAction) {
    return segment == 1 ? "user" : "action";
  }
  const auto index = [](std::size_t i) {
    return "[" + std::to_string(i) + "]";
  };
  if (has_one_path()) return "path" + index(segment);
  std::size_t path = 0;
  for (;; ++path) {
    const auto size =
        static_cast<std::size_t>(numbers[kInputSize + kPathSize * path]);
    if (segment < size) break;
    segment -= size;
  }
  return "paths" + index(path) + index(segment);
}

bool Request::refuse(limitree_status status, const std::string& message) const {
  native->environment().raise(Error(status, {message}));
  return false;
}

}  // namespace limitree::node
