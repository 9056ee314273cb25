#include "trace/tracer.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace limitree::server {
namespace {

std::vector<Span> take_all(Tracer* tracer) {
  std::vector<Span> spans;
  Span span;
  while (tracer->queue()->take(&span)) spans.push_back(span);
  return spans;
}

TraceContext parent(Sampling sampling) {
  TraceContext context;
  context.trace_id.fill(0xff);
  context.span_id.fill(7);
  context.sampling = sampling;
  return context;
}

TEST(Tracer, ContinuesTheTraceOfTheSender) {
  Tracer tracer(0, [] {});
  Span span{};
  span.operation = 3;
  tracer.record(parent(Sampling::kYes), span);
  const std::vector<Span> spans = take_all(&tracer);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].trace_id, parent(Sampling::kYes).trace_id);
  EXPECT_EQ(spans[0].parent_id, parent(Sampling::kYes).span_id);
  EXPECT_NE(spans[0].span_id, SpanId{});
  EXPECT_NE(spans[0].span_id, spans[0].parent_id);
  EXPECT_EQ(spans[0].operation, 3);
}

TEST(Tracer, ObeysTheSender) {
  Tracer tracer(1, [] {});
  tracer.record(parent(Sampling::kNo), {});
  EXPECT_TRUE(take_all(&tracer).empty());
}

TEST(Tracer, DecidesByTheNumberOfTheTraceIfTheSenderDoesNot) {
  Tracer all(1, [] {});
  Tracer half(0.5, [] {});
  for (Tracer* const tracer : {&all, &half}) {
    tracer->record(parent(Sampling::kUndecided), {});
  }
  EXPECT_EQ(take_all(&all).size(), 1u);
  EXPECT_TRUE(take_all(&half).empty());  // its number is the largest
}

TEST(Tracer, BeginsTracesWithIdsOfTheirOwn) {
  Tracer tracer(1, [] {});
  std::set<TraceId> traces;
  std::set<SpanId> spans;
  for (int i = 0; i < 1'000; ++i) tracer.record({}, {});
  for (const Span& span : take_all(&tracer)) {
    traces.insert(span.trace_id);
    spans.insert(span.span_id);
    EXPECT_EQ(span.parent_id, SpanId{});
  }
  EXPECT_EQ(traces.size(), 1'000u);
  EXPECT_EQ(spans.size(), 1'000u);
}

TEST(Tracer, SamplesItsShare) {
  Tracer none(0, [] {});
  Tracer some(0.25, [] {});
  for (int i = 0; i < 4'000; ++i) {
    none.record({}, {});
    some.record({}, {});
  }
  EXPECT_TRUE(take_all(&none).empty());
  // 1000 are expected; 27 is the standard deviation.
  const std::size_t count = take_all(&some).size();
  EXPECT_GT(count, 800u);
  EXPECT_LT(count, 1'200u);
}

TEST(Tracer, CountsWhatFindsNoRoom) {
  int wakes = 0;
  Tracer tracer(1, [&] { ++wakes; });
  for (std::size_t i = 0; i < SpanQueue::kCapacity + 5; ++i) {
    tracer.record({}, {});
  }
  EXPECT_EQ(tracer.lost(), 5u);
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(take_all(&tracer).size(), SpanQueue::kCapacity);
  tracer.record({}, {});
  EXPECT_EQ(tracer.lost(), 5u);
}

TEST(SpanQueue, CarriesSpansInOrderBetweenThreads) {
  constexpr std::int64_t kCount = 100'000;
  SpanQueue queue;
  std::thread reader([&] {
    Span span;
    for (std::int64_t i = 0; i < kCount;) {
      if (!queue.take(&span)) {
        std::this_thread::yield();
        continue;
      }
      ASSERT_EQ(span.begun, Monotonic(Duration(i)));
      ASSERT_EQ(span.ended, Monotonic(Duration(2 * i)));
      ++i;
    }
  });
  for (std::int64_t i = 0; i < kCount;) {
    Span span{};
    span.begun = Monotonic(Duration(i));
    span.ended = Monotonic(Duration(2 * i));
    if (queue.put(span)) {
      ++i;
    } else {
      std::this_thread::yield();
    }
  }
  reader.join();
}

}  // namespace
}  // namespace limitree::server
