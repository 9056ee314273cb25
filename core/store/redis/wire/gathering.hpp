// Commands that can be joined, from their coming until they can be sent: the
// more of them there are by then, the less each of them costs.

#ifndef LIMITREE_STORE_REDIS_WIRE_GATHERING_HPP
#define LIMITREE_STORE_REDIS_WIRE_GATHERING_HPP

#include <cstddef>
#include <memory>
#include <vector>

#include "store/redis/wire/joint.hpp"

namespace limitree::redis {

class Gathering {
 public:
  bool empty() const { return first_ == all_.size(); }
  std::size_t bytes() const;  // of the commands as they are

  // REQUIRES: command->joinable().
  void push(Command* command);

  // False if it is not there.
  bool forget(const Command* command);

  // What is to be sent next: one command, or several as one.
  struct Next {
    Command* command;
    std::unique_ptr<Joint> joint;  // the command, if it is one
    std::size_t count;
  };
  Next next();
  void remove_front(std::size_t count);

  std::vector<Command*> take_all();

 private:
  struct One {
    Command* command;
    const Script* script;
  };

  std::vector<One> all_;
  std::size_t first_ = 0;
  bool sorted_ = true;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_GATHERING_HPP
