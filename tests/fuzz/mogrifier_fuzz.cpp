// Patterns of mogrifiers, and names to try them on.
//
// The input is a pattern, a new name, tags and a metric's name, with a line
// each.  A pattern is refused with a message, or it is used on the name and on
// longer ones, in a time that does not explode: libFuzzer's -timeout sees to
// that.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/failure.hpp"
#include "stats/mogrifier.hpp"
#include "stats/snapshot.hpp"

namespace {

using limitree::Failure;
using limitree::server::clean_name;
using limitree::server::Mogrifier;
using limitree::server::TaggedName;

void require(bool fact) {
  if (!fact) std::abort();
}

std::string take_line(std::string_view* text) {
  const std::size_t end = text->find('\n');
  const std::string line(text->substr(0, end));
  text->remove_prefix(end == text->npos ? text->size() : end + 1);
  return line;
}

void try_on(const Mogrifier& mogrifier, const std::string& name,
            std::size_t max_size) {
  TaggedName result{name, {}};
  const bool matches = mogrifier.apply(&result);
  require(matches || result.name == name);
  require(matches || result.tags.empty());
  require(!matches || result.name.size() <= max_size);
  TaggedName again{name, {}};
  require(mogrifier.apply(&again) == matches && again.name == result.name &&
          again.tags == result.tags);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string pattern = take_line(&text);
  const std::string new_name = take_line(&text);
  const std::string tags = take_line(&text);
  const std::string name = clean_name(text);
  require(name.find_first_of(":|\n") == name.npos);
  try {
    const Mogrifier mogrifier({"F", pattern, new_name, tags});
    std::string longer = name;
    while (longer.size() < 4'096 && !name.empty()) longer += name;
    try_on(mogrifier, name, 4'096 + new_name.size());
    try_on(mogrifier, longer, 4'096 + new_name.size());
  } catch (const Failure& failure) {
    require(std::string_view(failure.what())
                .starts_with("DOG_STATSD_MOGRIFIER_F_"));
  }
  return 0;
}
