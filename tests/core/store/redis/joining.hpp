// Commands that may be joined, with keys k0, k1 and so on.

#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "core/store/redis/wire.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/wire/resp.hpp"

namespace limitree::redis {

class JoiningCommand final : public TestCommand {
 public:
  // Sent alone, it is an ECHO of its key.
  JoiningCommand(const Script& script, const std::string& key)
      : TestCommand({"ECHO", key}), script_(script) {
    append_word(key, &key_);
  }

  Joinable joinable() const override { return {&script_, key_, 1}; }

 private:
  const Script& script_;
  std::string key_;
};

class JoiningCommands {
 public:
  JoiningCommands(const Script& script, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      commands_.emplace_back(script, "k" + std::to_string(i));
      all_.push_back(&commands_.back());
    }
  }

  std::size_t size() const { return all_.size(); }
  const std::vector<Command*>& all() const { return all_; }
  JoiningCommand& operator[](std::size_t i) { return commands_[i]; }
  std::string text(std::size_t i) const { return commands_[i].text(); }

 private:
  std::deque<JoiningCommand> commands_;
  std::vector<Command*> all_;
};

}  // namespace limitree::redis
