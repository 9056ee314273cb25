#include "tree/override_files.hpp"

#include <string>
#include <utility>

#include "tree/read_overrides.hpp"

namespace limitree {

bool is_overrides_name(std::string_view name) {
  return is_printable(name) &&  // messages begin with the name
         (name.ends_with(".csv") || name.ends_with(".yaml") ||
          name.ends_with(".yml"));
}

LoadedOverrides load_overrides(const OverrideFolder& folder, const Draft& draft,
                               Key key, Nodes* nodes, Problems* problems) {
  const std::string name = beside(folder.origin, draft.overrides);
  LoadedOverrides loaded{
      &draft, key, static_cast<std::uint32_t>(nodes->overrides.size()), {}};
  Overrides& overrides = nodes->overrides.emplace_back();
  overrides.file = draft.overrides;
  Result<std::string> text = folder.read(name, kMaxOverridesSize);
  if (!text.ok()) {
    problems->add(draft.overrides_mark,
                  name + ": " + text.status().error().messages.front());
    return loaded;
  }

  OverrideReader reader(
      {key, draft.charge, nodes->path(any_child(draft)->place)}, nodes,
      problems);
  problems->enter_file(name);
  if (name.ends_with(".csv")) {
    reader.read_csv(text.value());
  } else {
    reader.read_yaml(text.value());
  }
  problems->enter_file("");
  overrides.ids = std::move(reader.ids());
  loaded.limits = std::move(reader.limits());
  return loaded;
}

}  // namespace limitree
