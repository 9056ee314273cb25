#include "http/request_reader.hpp"

#include <llhttp.h>

#include <utility>

#include "io/trouble.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

// The extra size of each field, as RFC 9113 counts it.
constexpr std::size_t kFieldOverhead = 32;

constexpr std::string_view kBlanks = " \t";

// Whether `text` ends at the beginning of a line, apart from blanks; `before`
// says the same about what came before `text`.
bool is_at_line_begin(std::string_view text, bool before) {
  const std::size_t last = text.find_last_not_of(kBlanks);
  return last == text.npos ? before : text[last] == '\n';
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
      tell_exception();
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

  static int value(llhttp_t* parser, const char* data, std::size_t size) {
    const int result = guarded(parser, [&](RequestReader* reader) {
      return reader->on_value({data, size});
    });
    return result != 0 ? result
                       : append<&RequestReader::value_>(parser, data, size);
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
    settings.on_header_value = value;
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
  input_ = *bytes;
  const llhttp_errno_t error =
      llhttp_execute(parser_.get(), bytes->data(), bytes->size());
  if (error == HPE_OK) {
    at_line_begin_ = is_at_line_begin(*bytes, at_line_begin_);
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
  in_body_ = expects_ = at_line_begin_ = false;
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

// llhttp accepts a value that continues on the next line (obs-fold), in which
// not all servers find the same fields.
int RequestReader::on_value(std::string_view part) {
  if (part.empty()) return 0;  // this may be where the next line begins
  const std::string_view before =
      input_.substr(0, static_cast<std::size_t>(part.data() - input_.data()));
  if (!is_at_line_begin(before, at_line_begin_)) return 0;
  return refuse(400, "the request is malformed: a field has one line");
}

// Fields after a body are read but have no meaning.
int RequestReader::on_field_end() {
  if (name_.empty()) {
    return refuse(400, "the request is malformed: a field has a name");
  }
  value_.erase(value_.find_last_not_of(kBlanks) + 1);
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
  if (parser_->method == HTTP_CONNECT)
    return refuse(501, "this is not a proxy");
  // The only protocol to upgrade to would be HTTP/2, whose clients may use it
  // from the first byte on.
  parser_->upgrade = 0;
  const bool is_1_1 = parser_->http_minor > 0;
  if (const int result = check_coding(is_1_1); result != 0) return result;
  const std::size_t hosts = request_->count("host");
  if (hosts > 1 || (is_1_1 && hosts == 0)) {
    return refuse(400, "a request has one field Host");
  }
  const bool chunked = (parser_->flags & F_CHUNKED) != 0;
  if (!chunked && parser_->content_length > limits_.max_body_bytes) {
    return on_body({});
  }
  expects_ = is_1_1 && (chunked || parser_->content_length > 0) &&
             is_word(request_->field("expect"), "100-continue");
  return 0;
}

// llhttp refuses a coding that does not end with `chunked`.
int RequestReader::check_coding(bool is_1_1) {
  const std::size_t count = request_->count("transfer-encoding");
  if (count == 0) return 0;
  if (!is_1_1 || count > 1) {
    return refuse(400, is_1_1 ? "a request has one field Transfer-Encoding"
                              : "HTTP/1.0 has no Transfer-Encoding");
  }
  const bool chunked = (parser_->flags & F_CHUNKED) != 0;
  if (!chunked || is_word(request_->field("transfer-encoding"), "chunked")) {
    return 0;
  }
  return refuse(501, "the only Transfer-Encoding is chunked");
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
  for (std::string* text : {&target_, &name_, &value_}) empty_text(text);
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
