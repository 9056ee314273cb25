#include "trace/context.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace limitree::server {
namespace {

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kSpan = "00f067aa0ba902b7";

const TraceId kTraceId = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                          0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
const SpanId kSpanId = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};

std::string traceparent(const std::string& flags) {
  return std::string("00-") + kTrace + "-" + kSpan + "-" + flags;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

TraceContext context_of(const Fields& fields) {
  TraceFields trace;
  for (const auto& [name, value] : fields) trace.take(name, value);
  return trace.context();
}

TEST(Traceparent, HasTheTraceAndTheSpan) {
  const TraceContext sampled = parse_traceparent(traceparent("01"));
  EXPECT_EQ(sampled, (TraceContext{kTraceId, kSpanId, Sampling::kYes}));
  EXPECT_EQ(parse_traceparent(traceparent("00")).sampling, Sampling::kNo);
  EXPECT_EQ(parse_traceparent(traceparent("03")).sampling, Sampling::kYes);
}

TEST(Traceparent, LaterVersionsMayBeLonger) {
  std::string later = traceparent("01");
  later[1] = '1';
  EXPECT_TRUE(parse_traceparent(later).has_trace());
  EXPECT_TRUE(parse_traceparent(later + "-more").has_trace());
  EXPECT_FALSE(parse_traceparent(later + "more").has_trace());
}

TEST(Traceparent, WhatIsNotValidSaysNothing) {
  const std::string valid = traceparent("01");
  std::vector<std::string> bad = {"", valid + "-more", valid.substr(1),
                                  valid.substr(0, 54)};
  for (std::size_t i = 0; i < valid.size(); ++i) {
    for (const char wrong : {'G', 'A', ' ', '\0'}) {
      bad.push_back(valid);
      bad.back()[i] = wrong;
    }
  }
  bad.push_back("ff" + valid.substr(2));
  bad.push_back("00-" + std::string(32, '0') + valid.substr(35));
  bad.push_back(valid.substr(0, 36) + std::string(16, '0') + "-01");
  for (const std::string& text : bad) {
    EXPECT_EQ(parse_traceparent(text), TraceContext{}) << text;
  }
}

TEST(B3, HasTheTraceTheSpanAndTheSampling) {
  const std::string ids = std::string(kTrace) + "-" + kSpan;
  EXPECT_EQ(parse_b3(ids + "-1"),
            (TraceContext{kTraceId, kSpanId, Sampling::kYes}));
  EXPECT_EQ(parse_b3(ids + "-d").sampling, Sampling::kYes);
  EXPECT_EQ(parse_b3(ids + "-0-05e3ac9a4f6e3b90"),
            (TraceContext{kTraceId, kSpanId, Sampling::kNo}));
  EXPECT_EQ(parse_b3(ids),
            (TraceContext{kTraceId, kSpanId, Sampling::kUndecided}));
}

TEST(B3, ShortTracesAreFilledWithZeros) {
  TraceId id{};
  std::copy(kTraceId.begin() + 8, kTraceId.end(), id.begin() + 8);
  EXPECT_EQ(parse_b3(std::string("a3ce929d0e0e4736-") + kSpan).trace_id, id);
}

TEST(B3, MayBeASamplingAlone) {
  EXPECT_EQ(parse_b3("0"), (TraceContext{{}, {}, Sampling::kNo}));
  EXPECT_EQ(parse_b3("1"), (TraceContext{{}, {}, Sampling::kYes}));
  EXPECT_EQ(parse_b3("x"), TraceContext{});
}

TEST(B3, WhatIsNotValidSaysNothing) {
  const std::string zeros(32, '0');
  for (const std::string& text :
       {std::string("-"), std::string(kTrace) + "-", std::string("-") + kSpan,
        std::string(kTrace) + "-abc-1", "12-" + std::string(kSpan),
        zeros + "-" + kSpan, std::string(kTrace) + "-" + zeros.substr(16),
        std::string(kTrace) + "0-" + kSpan}) {
    EXPECT_EQ(parse_b3(text), TraceContext{}) << text;
  }
}

TEST(TraceFields, TakesSeveralFieldsOfB3) {
  const TraceContext context = context_of({{"x-b3-sampled", "1"},
                                           {"x-b3-spanid", kSpan},
                                           {"x-b3-parentspanid", "ignored"},
                                           {"x-b3-traceid", kTrace}});
  EXPECT_EQ(context, (TraceContext{kTraceId, kSpanId, Sampling::kYes}));
}

TEST(TraceFields, DebuggingIsSampled) {
  for (const Fields& fields :
       {Fields{{"x-b3-flags", "1"}, {"x-b3-sampled", "0"}},
        Fields{{"x-b3-sampled", "0"}, {"x-b3-flags", "1"}}}) {
    EXPECT_EQ(context_of(fields), (TraceContext{{}, {}, Sampling::kYes}));
  }
}

TEST(TraceFields, HalfAPairOfIdsIsNoTrace) {
  EXPECT_EQ(context_of({{"x-b3-traceid", kTrace}, {"x-b3-sampled", "0"}}),
            (TraceContext{{}, {}, Sampling::kNo}));
  EXPECT_EQ(context_of({{"x-b3-traceid", "x"}, {"x-b3-spanid", kSpan}}),
            TraceContext{});
}

TEST(TraceFields, W3cCountsFirst) {
  const std::string b3 = std::string(32, 'a') + "-" + std::string(16, 'b');
  EXPECT_EQ(context_of({{"b3", b3 + "-0"},
                        {"traceparent", traceparent("01")},
                        {"x-b3-sampled", "0"}}),
            (TraceContext{kTraceId, kSpanId, Sampling::kYes}));
  EXPECT_EQ(context_of({{"traceparent", "wrong"}, {"b3", b3}}), parse_b3(b3));
}

TEST(TraceFields, TwoTraceparentsSayNothing) {
  EXPECT_EQ(context_of({{"traceparent", traceparent("01")},
                        {"traceparent", traceparent("01")}}),
            TraceContext{});
}

TEST(TraceFields, OtherFieldsSayNothing) {
  EXPECT_EQ(context_of({{"tracestate", "a=b"}, {"x-b3-", "1"}, {"", ""}}),
            TraceContext{});
}

}  // namespace
}  // namespace limitree::server
