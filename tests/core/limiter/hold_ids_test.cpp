#include "limiter/hold_ids.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <set>

namespace limitree {
namespace {

// What a child has of its parent's.
class Copied {
 public:
  explicit Copied(const HoldIds& parent) {
    std::memcpy(bytes_, &parent, sizeof parent);
  }
  HoldIds* operator->() { return reinterpret_cast<HoldIds*>(bytes_); }

 private:
  alignas(HoldIds) std::byte bytes_[sizeof(HoldIds)];
};

TEST(HoldIds, ChildrenWithTheSameProcessNumberMakeDifferentOnes) {
  HoldIds parent;
  std::set<HoldId> ids = {Copied(parent)->next(), parent.next()};
  ASSERT_EQ(ids.size(), 1u) << "a copy goes on as the parent would";
  for (int i = 0; i < 3; ++i) {
    Copied child(parent);
    child->forked();
    ids.insert(child->next());
    ids.insert(child->next());
  }
  ids.insert(parent.next());
  EXPECT_EQ(ids.size(), 8u);
}

}  // namespace
}  // namespace limitree
