// Visits every state that a model can reach.
//
// It goes breadth first, so the way into the first fault that it finds is a
// shortest one.  A State is plain bytes without padding: two states are equal
// if their bytes are.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace limitree::model {

struct Exploration {
  std::size_t states = 0;
  std::size_t steps = 0;
  std::string fault;              // empty: no state is wrong
  std::vector<std::string> path;  // the steps into the fault
};

// Model has State, Step, initial(), text(Step), and
// each_step(state, visit), which calls visit(step, next, fault) for every step
// that is possible in `state`; `fault` says what is wrong with it, if not "".
template <typename Model>
class Explorer {
 public:
  using State = typename Model::State;
  using Step = typename Model::Step;
  static_assert(std::has_unique_object_representations_v<State>);

  // A model with more states is too large for a test.
  static constexpr std::size_t kMostStates = 20'000'000;

  explicit Explorer(const Model& model) : model_(model) {}

  Exploration run() {
    Exploration result;
    add(model_.initial(), 0, {});
    for (std::size_t at = 0; at < states_.size() && result.fault.empty();
         ++at) {
      const State state = states_[at];  // a copy: states_ grows
      model_.each_step(
          state, [&](const Step& step, const State& next, const char* fault) {
            ++result.steps;
            if (!result.fault.empty()) return;
            if (fault[0] == '\0') {
              add(next, at, step);
              return;
            }
            result.fault = fault;
            result.path = path_to(at);
            result.path.push_back(model_.text(step));
          });
    }
    result.states = states_.size();
    return result;
  }

 private:
  struct Origin {
    std::uint32_t parent;
    Step step;
  };

  static std::size_t hash(const State& state) {
    unsigned char bytes[(sizeof state + 7) / 8 * 8] = {};
    std::memcpy(bytes, &state, sizeof state);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < sizeof bytes; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + i, sizeof word);
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }

  void add(const State& state, std::size_t parent, const Step& step) {
    if ((states_.size() + 1) * 2 > places_.size()) grow();
    std::uint32_t& place = places_[place_of(state)];
    if (place != 0) return;
    if (states_.size() == kMostStates) {
      throw std::length_error("the model has too many states");
    }
    states_.push_back(state);
    origins_.push_back({static_cast<std::uint32_t>(parent), step});
    place = static_cast<std::uint32_t>(states_.size());
  }

  // Where `state` is, or where it may be put.
  std::size_t place_of(const State& state) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = hash(state) & mask;
    while (places_[at] != 0 &&
           std::memcmp(&states_[places_[at] - 1], &state, sizeof state) != 0) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow() {
    places_.assign(std::max<std::size_t>(1024, places_.size() * 4), 0);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      places_[place_of(states_[i])] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<std::string> path_to(std::size_t at) const {
    std::vector<std::string> path;
    for (; at != 0; at = origins_[at].parent) {
      path.push_back(model_.text(origins_[at].step));
    }
    std::ranges::reverse(path);
    return path;
  }

  const Model& model_;
  std::vector<State> states_;
  std::vector<Origin> origins_;
  std::vector<std::uint32_t> places_;  // index + 1 into states_; 0: free
};

}  // namespace limitree::model
