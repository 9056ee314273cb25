// The part of a Decision that reads items, decides, and makes new ones.

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/inline_vector.hpp"
#include "store/buckets/mixed_decision.hpp"
#include "store/late_clock.hpp"
#include "store/memcached/decision.hpp"
#include "store/memcached/item_buckets.hpp"

namespace limitree::memcached {

using remote::Failure;

namespace {

// Servers refuse items of more than a mebibyte, with their own bytes.
constexpr std::size_t kMaxItem = (std::size_t{1} << 20U) - 1024;

// By a clock of the caller's no server can tell when an item is over.
constexpr std::int64_t kCallersTtl = std::int64_t{24} * 60 * 60;

bool has_cell(const Limit& limit) {
  return limit.holds() || is_window(limit.algorithm);
}

}  // namespace

Status Decision::load(FamilyItem* family) {
  family->item = {};
  if (!family->written) family->write = FamilyItem::Write::kNone;
  if (!family->exists) return {};
  const auto failure = [&](Failure why, const std::string& what) {
    return to_status(why, family->node->endpoint().text(),
                     family->key + ": " + what);
  };
  if (const char* const wrong = decode(family->bytes, &family->item)) {
    family->item = {};
    // It is forgotten as a whole.
    return kind_ == Kind::kForget ? Status()
                                  : failure(Failure::kNoDecision, wrong);
  }
  if (family->cas == 0) {
    return failure(Failure::kNoDecision,
                   "the server keeps no CAS, is it started with -C?");
  }
  const Instant latest = family->item.latest;
  family->old_ttl = ttl_of(family->item);
  // A caller may set its own clock back, as tests do.
  const bool is_set_back =
      context_.writer != 0 && family->item.writer == context_.writer;
  if (latest <= now_ || is_set_back) return {};
  if (saturating_sub(latest, read_at_) > kMostBehind) {
    if (kind_ == Kind::kForget) {  // the latest instant, too
      family->item = {};
      return {};
    }
    return failure(Failure::kClock,
                   "the clock of this process shows " + text_of(read_at_) +
                       ", and another one has used it at " + text_of(latest));
  }
  now_ = latest;
  writer_ = family->item.writer;
  return {};
}

// Until it is over by the clocks of all that may use it.
std::int64_t Decision::ttl_of(const Item& item) const {
  const Instant over = std::max(item.over(), item.latest);
  return ttl_for(saturating_sub(saturating_add(over, kMostBehind), read_at_));
}

// Sets the names of all levels in their items, and which bucket each has.
void Decision::load_buckets(ItemBucket* buckets,
                            std::vector<std::string>* names,
                            std::uint32_t* bucket_of) const {
  const bool any_again = std::ranges::any_of(
      plan_->levels, [](const Level& l) { return l.again; });
  for (const FamilyItem& family : families_) {
    std::map<std::string_view, std::uint32_t> known;
    for (std::uint32_t i = 0; i < family.levels; ++i) {
      const std::uint32_t index = order_[family.first + i];
      const Level& level = plan_->levels[index];
      std::string& name = (*names)[index];
      remote::append_field(*plan_, remote::family_of(*plan_, level), level,
                           &name);
      bucket_of[index] = index;
      if (any_again) {
        const auto [first, is_new] = known.try_emplace(name, index);
        bucket_of[index] = first->second;
        if (!is_new) continue;
      }
      const std::size_t field = family.item.find(name);
      if (field != Item::kNone) {
        buckets[index].load(family.item.fields[field], *level.limit, now_);
      }
    }
  }
}

// The same code as in the memory store, with the buckets of the items.
Status Decision::decide_levels() {
  if (plan_->found != nullptr) plan_->found->clear();
  const std::size_t count = plan_->levels.size();
  const auto buckets = std::make_unique<ItemBucket[]>(count);
  std::vector<std::string> names(count);
  InlineVector<std::uint32_t, 8> bucket_of;  // of each level
  InlineVector<std::uint64_t, 8> tags;       // nobody reads them
  bucket_of.resize(count);
  load_buckets(buckets.get(), &names, bucket_of.data());
  for (std::size_t i = 0; i < count; ++i) tags.push_back(~std::uint64_t{i});
  InlineVector<MixedLevel<ItemBucket::Place>, 4> mixed;
  mixed.resize(count);
  Status status = decide_mixed_levels(
      MixedRequest{plan_, now_, {tags.data(), count}}, &mixed,
      [&](std::size_t i) { return buckets[bucket_of[i]].place(); },
      [] { return Status(); });
  if (!status.ok()) return status;
  wait_for_own_clock();
  std::vector<bool> saved(count);  // of each bucket
  for (FamilyItem& family : families_) {
    if (family.written) continue;
    std::vector<Field> more;
    for (std::uint32_t i = 0; i < family.levels; ++i) {
      const std::uint32_t index = order_[family.first + i];
      const Level& level = plan_->levels[index];
      const std::uint32_t bucket = bucket_of[index];
      const bool changes =
          level.verdict.charged || mixed[index].is_kept(*plan_, level);
      if (!changes || saved[bucket]) continue;
      saved[bucket] = true;
      family.write = FamilyItem::Write::kSet;
      const std::size_t known = family.item.find(names[index]);
      Field& field = known == Item::kNone ? more.emplace_back()
                                          : family.item.fields[known];
      if (!buckets[bucket].save(has_cell(*level.limit), now_, &field)) {
        field.forget();
      }
      field.name = std::move(names[index]);
    }
    std::ranges::move(more, std::back_inserter(family.item.fields));
  }
  return {};
}

// The clock of this process may be behind: it has to get there first.
void Decision::wait_for_own_clock() {
  const Duration late = saturating_sub(now_, read_at_);
  const auto add = [late](Duration* wait) {
    if (*wait > Duration::zero() && *wait < kNever - late) *wait += late;
  };
  for (Level& level : plan_->levels) {
    add(&level.verdict.retry_after);
    add(&level.verdict.reset_after);
    add(&level.verdict.next_after);
  }
}

void Decision::forget_levels(FamilyItem* family) {
  if (!family->exists || family->written) return;
  family->write = FamilyItem::Write::kSet;
  for (std::uint32_t i = 0; i < family->levels; ++i) {
    const Level& level = plan_->levels[order_[family->first + i]];
    std::string name;
    remote::append_field(*plan_, remote::family_of(*plan_, level), level,
                         &name);
    const std::size_t field = family->item.find(name);
    if (field != Item::kNone) family->item.fields[field].forget();
  }
}

// Makes the new bytes of an item that is to be written.
Status Decision::save(FamilyItem* family) {
  if (family->write == FamilyItem::Write::kNone) return {};
  Item& item = family->item;
  // Holds that have ended stay until a request brings them to book.
  std::erase_if(item.fields, [this](const Field& field) {
    return field.over <= now_ && field.holds.empty();
  });
  if (item.fields.empty() && item.latest == kLongAgo) {
    family->write =
        family->exists ? FamilyItem::Write::kDelete : FamilyItem::Write::kNone;
    return {};
  }
  // Without a field it still says for whom its buckets are full by now.
  std::ranges::sort(item.fields, {}, &Field::name);
  item.latest = now_;
  item.writer = writer_;
  family->next.clear();
  encode(item, &family->next);
  if (family->next.size() > kMaxItem || item.fields.size() > kMaxFields) {
    return to_status(Failure::kTooLarge, family->node->endpoint().text(),
                     family->key + ": an item of " +
                         std::to_string(family->next.size()) + " bytes");
  }
  family->ttl = ttl_of(item);
  if (context_.clock.is_callers()) {
    for (std::int64_t* const ttl : {&family->ttl, &family->old_ttl}) {
      if (*ttl != 0) *ttl = std::max(*ttl, kCallersTtl);
    }
  }
  return {};
}

}  // namespace limitree::memcached
