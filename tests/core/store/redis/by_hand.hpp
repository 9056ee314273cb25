// Runs a router's discovery with answers that a test has written down.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/store/redis/resp_text.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/route/router.hpp"

namespace limitree::redis {

// `text` is a reply in RESP, an error or any other, or says how the connection
// failed: "refused", "timeout", "lost", "backoff" or "cancelled".
inline Outcome outcome_of(const std::string& text) {
  using Fate = Outcome::Fate;
  if (text == "refused") {
    return Outcome::lost(Fate::kNotSent, Failure::kRefused,
                         "connection refused");
  }
  if (text == "timeout") {
    return Outcome::lost(Fate::kUnknown, Failure::kTimeout,
                         "no answer in time");
  }
  if (text == "lost") {
    return Outcome::lost(Fate::kUnknown, Failure::kLost, "connection lost");
  }
  if (text == "backoff") {
    return Outcome::lost(Fate::kNotSent, Failure::kBackoff, "not tried");
  }
  if (text == "cancelled") {
    return Outcome::lost(Fate::kNotSent, Failure::kCancelled, "cancelled");
  }
  return answered(reply_of(text));
}

inline std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// What each endpoint answers.  The key is the endpoint's text.
using Answers = std::map<std::string, std::string>;

// Runs `task` and returns the endpoints that it asked.
inline std::vector<std::string> run_by_hand(Task* task, Router* router,
                                            const Answers& answers) {
  std::vector<std::string> asked;
  for (Task::Step step = task->start(); step.kind == Task::Step::Kind::kSend;) {
    const Target target = task->target();
    asked.push_back(target.endpoint->text());
    Node* const node = router->route(target);
    Outcome outcome = outcome_of(answers.at(asked.back()));
    router->learn(node, target, outcome);
    step = task->answered(std::move(outcome));
  }
  return asked;
}

inline std::vector<std::string> discover(Router* router,
                                         const Answers& answers) {
  const std::unique_ptr<Task> task = router->discovery();
  if (task == nullptr) return {"nobody"};
  return run_by_hand(task.get(), router, answers);
}

// The node for commands without a key.
inline std::string place(Router* router) {
  Node* const node = router->route(Target{});
  return node == nullptr ? "none" : node->endpoint().text();
}

inline std::string failure(Router* router) {
  const Status status = router->discovery_failure();
  return status.ok() ? "none" : status.error().messages.front();
}

// Waits until the router allows another discovery.
inline void wait_for_hold_off(Router* router) {
  while (router->discovery() == nullptr) {
  }
}

inline Settings settings_of(std::string_view url) {
  Settings settings;
  settings.url = parse_url(url).value();
  return settings;
}

}  // namespace limitree::redis
