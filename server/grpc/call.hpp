// One call of gRPC.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "grpc/framing.hpp"
#include "grpc/method.hpp"
#include "grpc/status.hpp"
#include "h2/stream.hpp"
#include "io/timer.hpp"
#include "net/client_request.hpp"
#include "trace/context.hpp"
#include "trace/request_observer.hpp"

namespace limitree::server {

class Call final : public Stream, public ClientRequest {
 public:
  // `observer` may be null.
  Call(const MethodTable* methods, Timers* timers, RequestObserver* observer);

  // ---- For methods, on the thread of the loop ----

  // Starts a message: append it to the result, then call end_message().
  std::string* begin_message();
  void end_message();
  // Ends the call, once; anything that comes later is ignored.
  void finish(GrpcStatus status = {});
  bool is_over() const { return over_; }
  // Ends the call with INTERNAL, without the message that is not complete.
  void fail_inside() override;
  void unless_taken(std::unique_ptr<Rollback> rollback) override {
    rollback_ = std::move(rollback);
  }
  Duration time_left() const override;

  // ---- For the connection ----

  void on_field(std::string_view name, std::string_view value) override;
  void on_request() override;
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_late() override;
  void on_shutdown() override;
  void on_body_sent() override;
  void on_close() override;

 private:
  enum class Encoding : std::uint8_t { kIdentity, kGzip, kOther };

  static Encoding encoding_of(std::string_view name);
  bool lacks_token() const;
  bool refuse_request();
  void refuse_http(std::string_view status);
  void fail(GrpcCode code, std::string message);
  void start_response();
  bool read_message(std::string_view* bytes);
  void take_message(bool has_more);
  void unpack_message();
  void deliver(std::string_view message);
  bool pack_message();
  void read_input(std::string_view bytes);
  void account();
  void report(GrpcCode code);

  const MethodTable* methods_;
  RequestObserver* observer_;
  const Method* method_ = nullptr;
  FrameReader reader_;
  std::string waiting_;  // bytes to read once the client has read more
  GrpcStatus status_;
  std::unique_ptr<Rollback> rollback_;
  TraceFields trace_;
  Timer deadline_;
  Duration timeout_ = kNever;
  std::size_t accounted_ = 0;  // of reader_.held()
  std::size_t frame_ = 0;      // where the message that is written starts
  bool writes_ = false;        // between begin_message() and end_message()
  bool reads_ = false;         // in read_input()
  Encoding encoding_ = Encoding::kIdentity;  // of messages
  bool takes_gzip_ = false;
  bool is_post_ = false;
  bool is_grpc_ = false;
  bool bad_timeout_ = false;
  bool has_token_ = false;  // if the method needs one
  bool has_message_ = false;
  bool over_ = false;
  const bool wants_trace_;
};

// gRPC on the connections of one loop.
using GrpcServer =
    StreamPool<Call, const MethodTable*, Timers*, RequestObserver*>;

}  // namespace limitree::server
