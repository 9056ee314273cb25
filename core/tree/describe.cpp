// Tree::describe() and Tree::explain(): the tree as text for people.
#include "tree/tree.hpp"
namespace limitree {
std::string Tree::describe() const { return ""; }
Result<std::string> Tree::explain(Path) const { return std::string(); }
}  // namespace limitree
