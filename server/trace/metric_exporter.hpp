// Sends what the page for Prometheus has to a collector of OpenTelemetry.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/background.hpp"
#include "trace/settings.hpp"

namespace limitree::server {

// Returns a thread that does so each MetricSettings::interval, and at its end.
// Values are sums since its beginning, so what could not be sent is in the next
// message.
//
// `resource` is what resource_message() made.  `read`, which returns the page,
// is called from that thread, and `say` with a line for people when sending
// begins to fail or to work.  Throws Failure if the settings are wrong.
std::unique_ptr<Background> export_metrics(
    const MetricSettings& settings, std::string resource,
    std::function<std::string()> read,
    std::function<void(const std::string&)> say);

}  // namespace limitree::server
