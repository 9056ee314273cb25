// The thread that loads limits and descriptors while workers serve.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/folder_watch.hpp"
#include "config/settings.hpp"
#include "config/xds_client.hpp"
#include "io/loop.hpp"
#include "limitree.hpp"

namespace limitree::server {

// How an attempt to load has ended.
struct LoadReport {
  bool loaded = false;
  // Files of descriptors that are in effect now.  Each has a domain.
  std::size_t files = 0;
  // Each mistake, as "file:line:column: what is wrong".
  std::vector<std::string> mistakes;
  // How often a server has sent the same mistakes before.
  std::size_t repeats = 0;
};

// What was loaded, or could not be loaded.
enum class Loaded { kAll, kDescriptors };

// Called on the thread.
class ConfigListener {
 public:
  virtual void loaded(Loaded what, const LoadReport& report) = 0;
  // The server of descriptors cannot be reached; it will be tried again.
  virtual void server_lost(const std::string& why) = 0;
  // Whether the store answers; only if health asks for that.
  virtual void store_answers(bool answers) = 0;

 protected:
  ~ConfigListener() = default;
};

class ConfigThread final : public XdsListener {
 public:
  // `settings` and `listener` outlive it.
  ConfigThread(const ServeSettings* settings, ConfigListener* listener);
  ~ConfigThread();
  ConfigThread(const ConfigThread&) = delete;
  ConfigThread& operator=(const ConfigThread&) = delete;

  // Reads what the service starts with into *config.  Returns the report.  It
  // reports a failure only if the service may start without descriptors;
  // otherwise this throws Failure, or what limitree.hpp throws.
  LoadReport read(Config* config);

  // Watches from now on.  `limiter` outlives the thread.  Throws Failure.
  void start(Limiter* limiter);
  // Reads all files again.  From any thread.
  void reload();
  void stop();

  std::string take(std::vector<SourceFile> files) override;
  void refuse(const std::string& why) override;
  void lost(const std::string& why) override;

 private:
  std::optional<SourceFile> read_limits() const;
  void add(const std::optional<SourceFile>& limits,
           const std::vector<SourceFile>& descriptors, Config* config) const;
  void load_all();
  void load_descriptors(const std::vector<SourceFile>& files);
  LoadReport report(const std::function<void()>& load) const;
  void tell_sent(LoadReport report);
  void ask_store();

  const ServeSettings& settings_;
  ConfigListener* listener_;
  std::size_t files_ = 0;  // as LoadReport::files
  std::string state_;      // of the files of descriptors that were read first
  Limiter* limiter_ = nullptr;
  Loop loop_;
  std::unique_ptr<FolderWatch> folder_;
  std::unique_ptr<XdsClient> xds_;
  std::string lost_;                   // why the connection was lost last
  std::vector<std::string> mistakes_;  // that a server has sent last
  std::size_t repeats_ = 0;            // of them
  Timer ask_store_;
  std::thread thread_;
};

}  // namespace limitree::server
