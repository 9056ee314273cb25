#include "http/request_reader.hpp"

#include <llhttp.h>

#include <utility>

namespace limitree::server {

namespace {

// Of each field, as RFC 9113 counts.
constexpr std::size_t kFieldOverhead = 32;

bool is_continue(std::string_view value) {
  static constexpr std::string_view kContinue = "100-continue";
  if (value.size() != kContinue.size()) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char byte = value[i];
    const bool capital = byte >= 'A' && byte <= 'Z';
    if ((capital ? byte - 'A' + 'a' : byte) != kContinue[i]) return false;
  }
  return true;
}

}  // namespace

// The callbacks of llhttp.  No exception may pass through it.
struct ReaderCallbacks {
  static RequestReader* of(llhttp_t* parser) {
    return static_cast<RequestReader*>(parser->data);
  }

  template <typename Call>
  static int guarded(llhttp_t* parser, const Call& call) noexcept {
    try {
      return call(of(parser));
    } catch (...) {
      return of(parser)->refuse(503, {});
    }
  }

  // Bytes of the header go to *(reader->*text).
  template <std::string RequestReader::*text>
  static int append(llhttp_t* parser, const char* data, std::size_t size) {
    return guarded(parser, [&](RequestReader* reader) {
      const int result = reader->on_header_bytes(size);
      if (result == 0) (reader->*text).append(data, size);
      return result;
    });
  }

  template <int (RequestReader::*call)()>
  static int event(llhttp_t* parser) {
    return guarded(parser,
                   [&](RequestReader* reader) { return (reader->*call)(); });
  }

  static int body(llhttp_t* parser, const char* data, std::size_t size) {
    return guarded(parser, [&](RequestReader* reader) {
      return reader->on_body({data, size});
    });
  }

  static llhttp_settings_t make() {
    llhttp_settings_t settings;
    llhttp_settings_init(&settings);
    settings.on_url = append<&RequestReader::target_>;
    settings.on_header_field = append<&RequestReader::name_>;
    settings.on_header_value = append<&RequestReader::value_>;
    settings.on_header_value_complete = event<&RequestReader::on_field_end>;
    settings.on_headers_complete = event<&RequestReader::on_headers_end>;
    settings.on_body = body;
    settings.on_message_complete = event<&RequestReader::on_message_end>;
    return settings;
  }
};

void RequestReader::Free::operator()(llhttp_t* parser) const noexcept {
  delete parser;
}

RequestReader::RequestReader(HttpRequest* request, RequestLimits limits)
    : request_(request), limits_(limits), parser_(new llhttp_t) {
  static const llhttp_settings_t settings = ReaderCallbacks::make();
  llhttp_init(parser_.get(), HTTP_REQUEST, &settings);
  parser_->data = this;
}

RequestReader::~RequestReader() = default;

RequestReader::Step RequestReader::next(std::string_view* bytes) {
  if (status_ != 0) return Step::kBad;
  if (bytes->empty()) return Step::kMore;
  if (!begun_) begin();
  const llhttp_errno_t error =
      llhttp_execute(parser_.get(), bytes->data(), bytes->size());
  if (error == HPE_OK) {
    *bytes = {};
    return Step::kMore;
  }
  if (error != HPE_PAUSED) {
    const char* const reason = llhttp_get_error_reason(parser_.get());
    return fail(reason != nullptr ? reason : "");
  }
  const char* const end = llhttp_get_error_pos(parser_.get());
  bytes->remove_prefix(static_cast<std::size_t>(end - bytes->data()));
  llhttp_resume(parser_.get());
  begun_ = false;
  return Step::kRequest;
}

void RequestReader::begin() {
  begun_ = true;
  in_body_ = expects_ = false;
  header_bytes_ = 0;
  target_.clear();
}

bool RequestReader::take_expectation() {
  return std::exchange(expects_, false);
}

// ---- What llhttp finds ------------------------------------------------------

int RequestReader::on_header_bytes(std::size_t size) {
  header_bytes_ += size;
  if (header_bytes_ <= limits_.max_header_bytes) return 0;
  return refuse(431, "the header is larger than " +
                         std::to_string(limits_.max_header_bytes) + " bytes");
}

// Fields after a body are read but have no meaning.
int RequestReader::on_field_end() {
  if (!in_body_) request_->add_field(name_, value_);
  name_.clear();
  value_.clear();
  return on_header_bytes(kFieldOverhead);
}

int RequestReader::on_headers_end() {
  in_body_ = true;
  request_->method =
      llhttp_method_name(static_cast<llhttp_method_t>(parser_->method));
  request_->set_target(target_);
  if (parser_->http_major != 1) return refuse(505, "use HTTP/1.1 or HTTP/2");
  if (parser_->method == HTTP_CONNECT) return refuse(501, "this is no proxy");
  // The only protocol to upgrade to would be HTTP/2, whose clients may use it
  // from the first byte on.
  parser_->upgrade = 0;
  const bool is_1_1 = parser_->http_minor > 0;
  const std::size_t hosts = request_->count("host");
  if (hosts > 1 || (is_1_1 && hosts == 0)) {
    return refuse(400, "a request has one field Host");
  }
  const bool chunked = (parser_->flags & F_CHUNKED) != 0;
  if (!chunked && parser_->content_length > limits_.max_body_bytes) {
    return on_body({});
  }
  expects_ = is_1_1 && (chunked || parser_->content_length > 0) &&
             is_continue(request_->field("expect"));
  return 0;
}

int RequestReader::on_body(std::string_view bytes) {
  std::string* const body = &request_->body;
  const bool fits = bytes.size() <= limits_.max_body_bytes - body->size();
  if (!fits || bytes.empty()) {
    return refuse(413, "the body is larger than " +
                           std::to_string(limits_.max_body_bytes) + " bytes");
  }
  expects_ = false;
  body->append(bytes);
  return 0;
}

int RequestReader::on_message_end() {
  expects_ = false;
  keeps_alive_ = llhttp_should_keep_alive(parser_.get()) != 0;
  return HPE_PAUSED;
}

int RequestReader::refuse(int status, std::string reason) {
  status_ = status;
  reason_ = std::move(reason);
  llhttp_set_error_reason(parser_.get(), "");
  return HPE_USER;
}

RequestReader::Step RequestReader::fail(std::string_view what) {
  if (status_ == 0) {
    status_ = 400;
    reason_ = "the request is malformed: ";
    reason_ += what;
  }
  return Step::kBad;
}

}  // namespace limitree::server
