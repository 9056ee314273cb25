#include "grpc/call.hpp"

#include <algorithm>
#include <protozero/exception.hpp>

#include "grpc/gzip.hpp"
#include "grpc/status.hpp"

namespace limitree::server {

namespace {

// A client that has this many bytes to read must read them before it is
// answered again.
constexpr std::size_t kMaxUnsent = 64 * 1024;

// Shorter answers take more time to compress than to send.
constexpr std::size_t kMinPacked = 1024;

// This many unpacked bytes count as much as a frame that brings nothing.
constexpr std::size_t kUnpackedPerFrame = 16 * 1024;

// A message may have this many times the bytes that were sent, or kFewUnpacked
// bytes.  gzip can make a thousand bytes from one, which costs a client nothing
// but takes time here.  Messages whose parts differ only in a number grow less
// than a hundred times.
constexpr std::size_t kMostGrowth = 128;
constexpr std::size_t kFewUnpacked = 16 * 1024;

constexpr Field kResponse[] = {{":status", "200"},
                               {"content-type", kGrpcContentType}};
constexpr Field kPackedResponse[] = {{":status", "200"},
                                     {"content-type", kGrpcContentType},
                                     {"grpc-encoding", "gzip"}};

// application/grpc, application/grpc+proto, but not application/grpc-web.
bool is_grpc_type(std::string_view type) {
  if (!type.starts_with(kGrpcContentType)) return false;
  type.remove_prefix(kGrpcContentType.size());
  return type.empty() || type[0] == '+' || type[0] == ';';
}

}  // namespace

Call::Call(const MethodTable* methods, Timers* timers,
           RequestObserver* observer)
    : methods_(methods),
      observer_(observer),
      deadline_(
          timers,
          [this] {
            finish({GrpcCode::kDeadlineExceeded, "the deadline has passed"});
          }),
      wants_trace_(observer != nullptr && observer->wants_trace()) {}

// ---- The request ------------------------------------------------------------

void Call::on_field(std::string_view name, std::string_view value) {
  if (wants_trace_) trace_.take(name, value);
  switch (name.size()) {
    case 5:
      if (name == ":path") method_ = methods_->find(value);
      break;
    case 7:
      if (name == ":method") is_post_ = value == "POST";
      break;
    case 12:
      if (name == "content-type") {
        is_grpc_ = is_grpc_type(value);
      } else if (name == "grpc-timeout") {
        const auto timeout = parse_grpc_timeout(value);
        bad_timeout_ = !timeout;
        timeout_ = timeout.value_or(kNever);
      }
      break;
    case 13:
      if (name == "grpc-encoding") {
        encoding_ = encoding_of(value);
      } else if (name == "authorization" && lacks_token()) {
        has_token_ = access().lets_change(value);
      }
      break;
    case 20:
      if (name == "grpc-accept-encoding") {
        takes_gzip_ = value.find("gzip") != value.npos;
      }
      break;
    default:
      break;
  }
}

bool Call::lacks_token() const {
  return !has_token_ && access().token != nullptr && method_ != nullptr &&
         method_->needs_token;
}

Call::Encoding Call::encoding_of(std::string_view name) {
  if (name == "identity") return Encoding::kIdentity;
  return name == "gzip" ? Encoding::kGzip : Encoding::kOther;
}

void Call::on_request() {
  if (over_ || refuse_request()) return;
  if (timeout_ == kNever) return;
  if (timeout_ == Duration::zero()) {
    fail(GrpcCode::kDeadlineExceeded, "the deadline has passed");
    return;
  }
  deadline_.set(after(now(), timeout_));
}

Duration Call::time_left() const {
  return timeout_ == kNever ? kNever : after(begun(), timeout_) - now();
}

bool Call::refuse_request() {
  if (!is_post_) {
    refuse_http("405");
  } else if (!is_grpc_) {
    refuse_http("415");
  } else if (method_ == nullptr) {
    fail(GrpcCode::kUnimplemented, "there is no such method");
  } else if (lacks_token()) {
    fail(GrpcCode::kUnauthenticated, std::string(AdminToken::kMissing));
  } else if (bad_timeout_) {
    fail(GrpcCode::kInternal, "grpc-timeout is malformed");
  }
  return over_;
}

// For a client that does not speak gRPC.
void Call::refuse_http(std::string_view status) {
  over_ = true;
  const Field fields[] = {{":status", status}, {"content-length", "0"}};
  respond_only(fields);
}

void Call::fail(GrpcCode code, std::string message) {
  finish({code, std::move(message)});
}

void Call::on_data(std::string_view bytes) {
  if (over_) {
    consumed(bytes.size());
    return;
  }
  if (waiting_.empty()) {
    read_input(bytes);
  } else {
    waiting_.append(bytes);  // at most what the stream's window allows
  }
  account();
}

void Call::read_input(std::string_view bytes) {
  const std::size_t size = bytes.size();
  reads_ = true;
  while (!over_ && unsent() <= kMaxUnsent && read_message(&bytes)) {
  }
  reads_ = false;
  if (over_) bytes = {};
  consumed(size - bytes.size());
  waiting_.assign(bytes);
}

// Whether a message was read.
bool Call::read_message(std::string_view* bytes) {
  if (bytes->empty()) return false;
  switch (reader_.next(bytes, methods_->max_message_bytes())) {
    case FrameReader::Step::kMessage:
      take_message(!bytes->empty());
      return true;
    case FrameReader::Step::kMore:
      return false;
    case FrameReader::Step::kBadFlag:
      fail(GrpcCode::kInternal, "the flag of a message must be 0 or 1");
      return false;
    case FrameReader::Step::kTooLarge:
      fail(GrpcCode::kResourceExhausted,
           "the message has " + std::to_string(reader_.size()) +
               " bytes, more than " +
               std::to_string(methods_->max_message_bytes()));
      return false;
  }
  return false;
}

void Call::take_message(bool has_more) {
  const bool one = method_->kind != MethodKind::kBidirectional;
  if (one && (has_message_ || has_more)) {
    fail(GrpcCode::kUnimplemented, "this method takes one message");
    return;
  }
  if (method_->kind != MethodKind::kUnary && !may_last()) {
    fail(GrpcCode::kResourceExhausted,
         "the connection has too many calls that last");
    return;
  }
  has_message_ = true;
  if (reads_too_slowly()) {
    fail(GrpcCode::kResourceExhausted, "too many answers are not read");
    return;
  }
  if (reader_.is_compressed()) {
    unpack_message();
  } else {
    deliver(reader_.message());
  }
}

void Call::deliver(std::string_view message) {
  try {
    method_->on_message(this, message);
  } catch (const protozero::exception&) {
    fail(GrpcCode::kInvalidArgument,
         "the request is not a valid protobuf message");
  }
}

void Call::unpack_message() {
  if (encoding_ != Encoding::kGzip) {
    const bool unnamed = encoding_ == Encoding::kIdentity;
    fail(unnamed ? GrpcCode::kInternal : GrpcCode::kUnimplemented,
         unnamed ? "a message is compressed, but grpc-encoding does not say how"
                 : "grpc-encoding is neither gzip nor identity");
    return;
  }
  const std::size_t most =
      std::min(methods_->max_message_bytes(),
               std::max(kFewUnpacked, kMostGrowth * reader_.message().size()));
  std::string message;
  const Unpacked result = unpack_gzip(reader_.message(), most, &message);
  charge_frames(message.size() / kUnpackedPerFrame);
  if (result == Unpacked::kTooLarge) {
    fail(GrpcCode::kResourceExhausted, "the message has more than " +
                                           std::to_string(most) +
                                           " bytes when it is unpacked");
  } else if (result == Unpacked::kMalformed) {
    fail(GrpcCode::kInternal, "the message is not valid gzip");
  } else {
    deliver(message);
  }
}

// All calls of a connection share the memory for messages that are not complete
// or have not been read.  A call that is over keeps none of it while its answer
// waits for the client.
void Call::account() {
  std::size_t held = over_ ? 0 : reader_.held() + waiting_.size();
  if (held > accounted_ && !take_memory(held - accounted_)) {
    fail(GrpcCode::kResourceExhausted,
         "too many messages of the connection are not complete");
    held = 0;
  }
  if (held < accounted_) give_memory(accounted_ - held);
  accounted_ = held;
  if (!over_) return;
  reader_.clear();
  std::string().swap(waiting_);
}

void Call::on_end() {
  if (over_ || !waiting_.empty()) return;
  if (!reader_.is_empty() && reader_.held() < kFramePrefix + reader_.size()) {
    fail(GrpcCode::kInternal, "the message is not complete");
  } else if (method_->kind == MethodKind::kBidirectional) {
    finish();
  } else if (!has_message_) {
    fail(GrpcCode::kUnimplemented, "this method takes one message");
  }
}

void Call::on_late() {
  if (over_ || has_message_) return;
  fail(GrpcCode::kDeadlineExceeded, "the request was not complete in time");
}

void Call::on_shutdown() {
  const bool lasts = method_ != nullptr && method_->kind != MethodKind::kUnary;
  if (over_ || !lasts) return;
  fail(GrpcCode::kUnavailable, "the server shuts down");
}

// Once, when the call is over.
void Call::report(GrpcCode code) {
  if (observer_ == nullptr || !has_message_ ||
      method_->kind != MethodKind::kUnary) {
    return;
  }
  observer_->call_over(method_->number, begun(), static_cast<int>(code),
                       trace_);
}

void Call::on_close() {
  if (!over_) report(GrpcCode::kCancelled);
  over_ = true;
  account();
  deadline_.cancel();
  drop_state();
  if (rollback_ != nullptr) leave_rollback(std::move(rollback_));
  method_ = nullptr;
  status_ = {};
  if (wants_trace_) trace_ = {};
  timeout_ = kNever;
  encoding_ = Encoding::kIdentity;
  takes_gzip_ = false;
  is_post_ = is_grpc_ = bad_timeout_ = has_token_ = has_message_ = false;
  over_ = writes_ = reads_ = false;
}

// ---- The response -----------------------------------------------------------

void Call::start_response() {
  if (!has_responded()) respond(kResponse);
}

std::string* Call::begin_message() {
  frame_ = begin_frame(&body());
  writes_ = true;
  return &body();
}

void Call::end_message() {
  const bool is_packed = encoding_ == Encoding::kGzip && pack_message();
  if (!is_packed) end_frame(&body(), frame_);
  writes_ = false;
  if (is_packed) {
    respond(kPackedResponse);
  } else {
    start_response();
  }
  send_body();
}

// Returns whether the answer is compressed.  Only for a client that compresses
// its own messages, too: one that can only unpack wants its answer soon.
bool Call::pack_message() {
  const std::string_view message =
      std::string_view(body()).substr(frame_ + kFramePrefix);
  if (!takes_gzip_ || method_->kind != MethodKind::kUnary ||
      message.size() < kMinPacked) {
    return false;
  }
  const std::string packed = pack_gzip(message);
  if (packed.size() >= message.size()) return false;
  body().resize(frame_ + kFramePrefix);
  body() += packed;
  end_frame(&body(), frame_, true);
  return true;
}

void Call::finish(GrpcStatus status) {
  if (over_) return;
  over_ = true;
  status_ = {status.code, short_message(std::move(status.message))};
  deadline_.cancel();
  drop_state();
  report(status_.code);
  if (!reads_) account();  // else the message is still in use
  if (has_responded() || status_.code == GrpcCode::kOk) {
    start_response();
    end_body();
  } else {
    respond_only(StatusFields(status_).response());
  }
}

void Call::fail_inside() {
  if (over_) return;
  if (std::exchange(writes_, false)) body().resize(frame_);
  fail(GrpcCode::kInternal, "the server has made a mistake");
}

void Call::on_body_sent() {
  if (!over_) {
    if (waiting_.empty()) return;
    const std::string bytes = std::exchange(waiting_, {});
    read_input(bytes);
    account();
    if (has_ended()) on_end();
    return;
  }
  if (status_.code == GrpcCode::kOk) {
    static constexpr Field kOkTrailers[] = {{"grpc-status", "0"}};
    send_trailers(kOkTrailers);
    return;
  }
  send_trailers(StatusFields(status_).trailers());
}

}  // namespace limitree::server
