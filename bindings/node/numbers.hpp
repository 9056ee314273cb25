// Decisions and levels as rows of numbers, in the form of layout.hpp.

#ifndef LIMITREE_NODE_NUMBERS_HPP
#define LIMITREE_NODE_NUMBERS_HPP

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "limitree.h"

namespace limitree::node {

// Numbers for the names of limits: JavaScript asks once for each name.  The
// names live as long as the limiter.
class Policies {
 public:
  std::size_t number_of(limitree_str policy);
  // An empty text if there is no such number.
  limitree_str at(std::size_t number) const {
    return number < policies_.size() ? policies_[number] : limitree_str{};
  }

 private:
  std::unordered_map<const char*, std::size_t> numbers_;
  std::vector<limitree_str> policies_;
};

// First segments that have a number, from 1 on, and need not be read again.
// There are as many as the trees have top-level names; callers cannot add any.
class Roots {
 public:
  std::size_t add(std::string name) {
    names_.push_back(std::move(name));
    return names_.size();
  }
  limitree_str at(std::size_t number) const {
    const std::string& name = names_.at(number - 1);
    return {name.data(), name.size()};
  }

 private:
  std::deque<std::string> names_;  // at fixed addresses
};

// Writes kDecisionSize numbers, which include the number of rows that follow,
// `level_count`.
void write_decision(const limitree_decision& decision, std::size_t level_count,
                    double* to);

// Writes kLevelSize numbers for each level; returns the end of them.
double* write_levels(const limitree_level* levels, std::size_t count,
                     Policies* policies, double* to);

}  // namespace limitree::node

#endif  // LIMITREE_NODE_NUMBERS_HPP
