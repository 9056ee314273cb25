#include "simulate_arguments.hpp"

#include "duration_option.hpp"

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
  add_duration(simulate, "--period", &options->period_ns, "the period (10s)");
  simulate
      ->add_option("--svg", options->svg, "draw a picture into this file, or -")
      ->type_name("FILE");
  simulate->footer(kSimulateFooter);
  return simulate;
}

}  // namespace limitree::cli
