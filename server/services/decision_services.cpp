#include "services/decision_services.hpp"

#include <string>

#include "grpc/call.hpp"
#include "services/answers.hpp"

namespace limitree::server {

namespace {

// Ends the call with the message that `write` appends, or with the error.
template <typename Write>
void finish(ClientRequest* request, const AnswerStatus& answer,
            const Write& write) {
  Call* const call = static_cast<Call*>(request);
  if (answer.status < 0) {
    return call->finish({code_of(answer.status), answer.message});
  }
  write(call->begin_message());
  call->end_message();
  call->finish();
}

}  // namespace

void DecisionServices::add_to(MethodTable* methods) {
  for (const LimiterOperation& one : kLimiterOperations) {
    methods->add(std::string("/limitree.v1.Limiter/") + one.name,
                 {MethodKind::kUnary,
                  [this, &one](Call* call, std::string_view message) {
                    decide(one, call, message);
                  },
                  one.needs_token});
  }
  for (const HoldOperation& one : kHoldOperations) {
    methods->add(std::string("/limitree.v1.Limiter/") + one.name,
                 {MethodKind::kUnary,
                  [this, &one](Call* call, std::string_view message) {
                    settle(one, call, message);
                  }});
  }
  methods->add(
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
      {MethodKind::kUnary,
       [this](Call* call, std::string_view message) { ask(call, message); }});
  for (const DescriptorOperation& one : kDescriptorOperations) {
    methods->add(std::string("/limitree.v1.Descriptors/") + one.name,
                 {MethodKind::kUnary,
                  [this, &one](Call* call, std::string_view message) {
                    ask_about(one, call, message);
                  },
                  one.resets});
  }
}

void DecisionServices::decide(const LimiterOperation& operation, Call* call,
                              std::string_view message) {
  if (operation.number < 0) {
    limiter_request_.read_reset(message, operation.number);
  } else {
    limiter_request_.read(message);
    if (!has_few_costs(call)) return;
  }
  decider_->decide(operation.number, limiter_request_, call, this);
}

bool DecisionServices::has_few_costs(Call* call) const {
  if (!limiter_request_.has_too_many_costs()) return true;
  call->finish(
      {GrpcCode::kInvalidArgument,
       "the request has more than " + std::to_string(kMaxCosts) + " costs"});
  return false;
}

void DecisionServices::settle(const HoldOperation& operation, Call* call,
                              std::string_view message) {
  if (operation.act == HoldOperation::Act::kReserve) {
    limiter_request_.read(message);
    if (has_few_costs(call)) decider_->reserve(limiter_request_, call, this);
    return;
  }
  receipt_request_.read(operation, message);
  if (receipt_request_.mistake() != nullptr) {
    return call->finish(
        {GrpcCode::kInvalidArgument, receipt_request_.mistake()});
  }
  decider_->settle(receipt_request_, call, this);
}

bool DecisionServices::read_envoy(Call* call, std::string_view message) {
  envoy_request_.read(message);
  if (!envoy_request_.is_too_large()) return true;
  call->finish(
      {GrpcCode::kInvalidArgument,
       "the request has more than 4096 descriptors, or more than 65536 "
       "entries"});
  return false;
}

void DecisionServices::ask(Call* call, std::string_view message) {
  if (read_envoy(call, message)) decider_->ask(&envoy_request_, call, this);
}

void DecisionServices::ask_about(const DescriptorOperation& operation,
                                 Call* call, std::string_view message) {
  if (!read_envoy(call, message)) return;
  if (operation.resets) {
    decider_->reset(envoy_request_, call, this);
  } else {
    decider_->ask(&envoy_request_, call, this, LIMITREE_ONLY_PEEKS);
  }
}

void DecisionServices::answer(ClientRequest* request,
                              const LimiterAnswer& answer) const {
  finish(request, answer, [&](std::string* message) {
    if (answer.decision == nullptr) return;
    if (answer.counts != nullptr) {
      return write_settlement(*answer.decision, message);
    }
    write_decision(*answer.decision, answer.levels, message, answer.receipt);
  });
}

void DecisionServices::answer(ClientRequest* request,
                              const EnvoyAnswer& answer) const {
  finish(request, answer, [&](std::string* message) {
    write_envoy(answer.response, answer.statuses, *settings_, message);
  });
}

}  // namespace limitree::server
