// Several calls of one script as one: what a server does for each call, to find
// the script and to ask for the time, it then does once for all of them.

#ifndef LIMITREE_STORE_REDIS_WIRE_JOINT_HPP
#define LIMITREE_STORE_REDIS_WIRE_JOINT_HPP

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "store/redis/wire/command.hpp"

namespace limitree::redis {

// Fewer of them are as fast by themselves.
inline constexpr std::size_t kFewestJoined = 4;
// With more a server would be busy for too long without looking up.
inline constexpr std::size_t kMostJoined = 16;

// The commands of a call, as one command.
class Joint final : public Command {
 public:
  // REQUIRES: all have the same script, and are not forgotten but by abandon().
  explicit Joint(std::span<Command* const> commands)
      : commands_(commands.begin(), commands.end()) {
    write(false);
  }

  std::string_view bytes() const override { return bytes_; }

  // Completes each with its part of the reply, or all with what became of it.
  void complete(Outcome outcome) noexcept override;

  const std::vector<Command*>& commands() const { return commands_; }
  bool has(const Command* command) const;

  // Forgets one of them.
  void abandon(const Command* command);

  // Writes the call anew, with the text of the script, for those who still
  // wait.  False: there is nobody, or it has the text already.
  bool write_text();

  std::size_t size() const { return commands_.size(); }  // forgotten ones too

 private:
  void write(bool with_text);
  void complete_all(const Outcome& outcome) noexcept;

  std::vector<Command*> commands_;  // null: forgotten
  std::string bytes_;
  bool has_text_ = false;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_JOINT_HPP
