// Sends the spans of all workers to a collector of OpenTelemetry.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/background.hpp"
#include "trace/settings.hpp"
#include "trace/tracer.hpp"

namespace limitree::server {

// Has its own thread.  Spans wait in the tracers while the collector does not
// answer; spans for which there is no room are lost.
class SpanExporter {
 public:
  // `resource` is what resource_message() made.  `say` is called from the
  // exporter's thread with a line for people when sending begins to fail or to
  // work.  Throws Failure if the settings are wrong.
  SpanExporter(const TraceSettings& settings, std::string resource,
               std::function<void(const std::string&)> say);
  // Sends what is there.
  ~SpanExporter();

  // Makes a tracer for a worker.  Call this before start().
  std::shared_ptr<Tracer> make_tracer();

  // Spans have the numbers of `operations`: "/package.Service/Method" of gRPC,
  // "POST /path" of HTTP.
  void start(const std::vector<std::string>& operations);

  // Spans that were lost.
  std::uint64_t lost() const;

 private:
  class Work;

  std::shared_ptr<Work> work_;
  std::unique_ptr<Background> thread_;
};

}  // namespace limitree::server
