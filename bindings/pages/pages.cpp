#include "pages/pages.hpp"

namespace limitree {

namespace {

constexpr char kStyle[] = {
#include "page_style.inc"
};

constexpr char kScript[] = {
#include "page_script.inc"
};

}  // namespace

std::string_view page_style() { return {kStyle, sizeof kStyle}; }

std::string_view page_script() { return {kScript, sizeof kScript}; }

}  // namespace limitree
