// /ui: a page that shows what the limits do now.

#pragma once

#include <functional>
#include <string>

#include "http/handler.hpp"

namespace limitree::server {

// Adds /ui, its files and /ui/data.json.  The page asks only this address, has
// no inline script or style, and no other site may show it in a frame.  `data`
// outlives the handlers.
void add_live_pages(std::function<const std::string&()> data,
                    HandlerTable* handlers);

}  // namespace limitree::server
