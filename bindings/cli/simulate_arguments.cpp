#include "simulate_arguments.hpp"

#include <optional>
#include <string>

#include "format.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kSimulateFooter =
    "The traffic lasts six periods: bursts at the seam of two windows, then "
    "more than\nis allowed, a pause, a burst and somewhat less than is "
    "allowed.\n\n"
    "Example:\n"
    "  limitree simulate --algorithms all --svg algorithms.svg";

}  // namespace

CLI::App* add_simulate(CLI::App* app, SimulateOptions* options) {
  CLI::App* const simulate = app->add_subcommand(
      "simulate", "Compare what algorithms admit of the same traffic");
  simulate
      ->add_option("-a,--algorithms", options->algorithms,
                   "all of them, or one (all)")
      ->type_name("NAME");
  simulate
      ->add_option("--count", options->count,
                   "requests allowed per period (100)")
      ->check(CLI::Range(1, 5000))
      ->type_name("N");
  const auto set_period = [options](const std::string& text) {
    const std::optional<std::int64_t> parsed = parse_duration_ns(text);
    if (!parsed) {
      throw CLI::ValidationError(
          "--period", "'" + text + "' is no duration like 100ms, 1.5s or 2m");
    }
    options->period_ns = *parsed;
  };
  simulate
      ->add_option_function<std::string>("--period", set_period,
                                         "the period (10s)")
      ->type_name("DURATION");
  simulate
      ->add_option("--svg", options->svg, "draw a picture into this file, or -")
      ->type_name("FILE");
  simulate->footer(kSimulateFooter);
  return simulate;
}

}  // namespace limitree::cli
