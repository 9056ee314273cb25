#include "store/shared/shared_url.hpp"

#include <algorithm>

#include "base/digits.hpp"

namespace limitree::shared {

namespace {

constexpr std::string_view kScheme = "shm://";
constexpr std::size_t kMaxName = 200;
constexpr std::size_t kMaxPath = 3000;

Status refuse(const std::string& what) {
  return Status(Code::kInvalidConfig, "store: " + what);
}

bool is_name_byte(char c) {
  return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
}

Status read_place(std::string_view place, SharedUrl* url) {
  if (place.empty()) return refuse("shm:// needs a name: shm://myapp");
  if (place.front() == '/') {
    if (place.size() > kMaxPath)
      return refuse("the path of shm:// is too long");
    if (place.back() == '/') return refuse("shm:// needs a file, not a folder");
    if (place.find('\0') != place.npos)
      return refuse("the path has a zero byte");
    url->path = place;
    return {};
  }
  if (place.find('/') != place.npos) {
    return refuse(
        "shm:// needs a name, as in shm://myapp, or an absolute path, as in "
        "shm:///var/lib/myapp/limits");
  }
  if (place.size() > kMaxName || place.front() == '.' ||
      !std::ranges::all_of(place, is_name_byte)) {
    return refuse(
        "the name in shm:// must consist of at most 200 letters, digits and "
        "\"._-\", and not begin with a dot");
  }
  url->path = "/dev/shm/" + std::string(place);
  return {};
}

// In quotes, so that JavaScript does not take it for an option of its own.
std::string quoted(std::string_view name) {
  return '"' + std::string(name) + '"';
}

Status read_parameter(std::string_view name, std::string_view value,
                      SharedUrl* url) {
  std::int64_t number = 0;
  if (name == "reset" || name == "make") {
    if (value != "0" && value != "1") {
      return refuse(quoted(name) + " must be 0 or 1");
    }
    (name == "reset" ? url->reset : url->make) = value == "1";
    return {};
  }
  if (name == "mode") {
    // The owner has to read and write; nobody executes.
    if (!read_digits(value, &number, 8) || number < 0 || value.size() > 5 ||
        (number & ~std::int64_t{0666}) != 0 || (number & 0600) != 0600) {
      return refuse(quoted(name) + " must be such as 0600 or 0660");
    }
    url->mode = static_cast<std::uint32_t>(number);
    if (lets_only_lock(url->mode)) {
      return refuse(quoted(name) +
                    " must let others read and write, or neither: who does "
                    "one of them can lock the file");
    }
    return {};
  }
  if (name == "max_buckets") {
    if (!read_digits(value, &number) || number < 1 ||
        number > SharedUrl::kMaxBuckets) {
      return refuse(quoted(name) + " must be from 1 to " +
                    std::to_string(SharedUrl::kMaxBuckets));
    }
    url->max_buckets = number;
    return {};
  }
  return refuse("shm:// has no parameter " + quoted(name) +
                ", there are: \"make\", \"max_buckets\", \"mode\", \"reset\"");
}

}  // namespace

bool lets_only_lock(std::uint32_t mode) {
  const std::uint32_t reads = mode >> 2 & 0011;
  const std::uint32_t writes = mode >> 1 & 0011;
  return reads != writes;
}

bool is_shared_url(std::string_view text) { return text.starts_with(kScheme); }

Result<SharedUrl> parse_shared_url(std::string_view text) {
  if (!is_shared_url(text)) return refuse("must begin with shm://");
  text.remove_prefix(kScheme.size());
  const std::size_t mark = std::min(text.find('?'), text.size());
  SharedUrl url;
  Status status = read_place(text.substr(0, mark), &url);
  std::string_view rest = text.substr(mark);
  while (status.ok() && !rest.empty()) {
    rest.remove_prefix(1);  // ? or &
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(pair.size());
    const std::size_t equals = std::min(pair.find('='), pair.size());
    status =
        read_parameter(pair.substr(0, equals),
                       pair.substr(std::min(equals + 1, pair.size())), &url);
  }
  if (!status.ok()) return status;
  return url;
}

}  // namespace limitree::shared
