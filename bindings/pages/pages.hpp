// What the pages of limitree share: the report of `limitree replay` and the
// page of the service.  Neither text depends on data, and neither needs a
// request to anywhere else.

#pragma once

#include <string_view>

namespace limitree {

// theme.css.
std::string_view page_style();

// page.js, chart.js and table.js, in this order, as one script.
std::string_view page_script();

}  // namespace limitree
