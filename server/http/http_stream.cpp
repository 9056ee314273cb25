#include "http/http_stream.hpp"

#include <array>

#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr std::size_t kMaxResponseFields = 16;

// Fields of a response, in their order.
class FieldList {
 public:
  void add(std::string_view name, std::string_view value) {
    if (size_ < fields_.size()) fields_[size_++] = {name, value, false};
  }
  std::span<const Field> get() const { return {fields_.data(), size_}; }

 private:
  std::array<Field, kMaxResponseFields> fields_;
  std::size_t size_ = 0;
};

// Adds lines of HTTP/1.1, whose names `*names` has in small letters.
void add_lines(std::string_view lines, std::string* names, FieldList* fields) {
  names->assign(lines);
  for (char& byte : *names) byte = lower(byte);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t colon = lines.find(": ", at);
    const std::size_t end = lines.find("\r\n", at);
    if (colon >= end || end == lines.npos) return;
    fields->add(std::string_view(*names).substr(at, colon - at),
                lines.substr(colon + 2, end - colon - 2));
    at = end + 2;
  }
}

}  // namespace

// ---- The request ------------------------------------------------------------

void HttpStream::on_field(std::string_view name, std::string_view value) {
  if (name == ":method") {
    mutable_request()->method = value;
  } else if (name == ":path") {
    mutable_request()->set_target(value);
  } else if (name == ":authority") {
    mutable_request()->add_field("host", value);
  } else if (!name.starts_with(':')) {
    mutable_request()->add_field(name, value);
  }
}

void HttpStream::on_request() {
  mutable_request()->begun = begun();
  if (!hold(field_bytes())) refuse_for_memory();
}

void HttpStream::on_data(std::string_view bytes) {
  consumed(bytes.size());
  if (over_) return;
  std::string* const body = &mutable_request()->body;
  if (bytes.size() > handlers_->max_body_bytes() - body->size()) {
    answer_text(this, 413,
                "the body is larger than " +
                    std::to_string(handlers_->max_body_bytes()) + " bytes");
  } else if (!hold(bytes.size())) {
    refuse_for_memory();
  } else {
    body->append(bytes);
  }
}

void HttpStream::on_end() {
  if (over_) return;
  if (reads_too_slowly()) {
    answer_text(this, 503, "too many answers are not read");
    return;
  }
  handlers_->serve(this);
}

void HttpStream::on_late() {
  if (!over_) answer_text(this, 408, "the request was not complete in time");
}

void HttpStream::on_close() {
  forget();
  over_ = false;
}

bool HttpStream::hold(std::size_t bytes) {
  if (!take_memory(bytes)) return false;
  held_ += bytes;
  return true;
}

// Nothing of the request is kept while the answer waits for the client.
void HttpStream::forget() {
  clear();
  give_memory(std::exchange(held_, 0));
}

void HttpStream::refuse_for_memory() {
  answer_text(this, 503,
              "too many requests of the connection are not complete");
}

// ---- The response -----------------------------------------------------------

void HttpStream::send(const HttpAnswer& answer) {
  if (std::exchange(over_, true)) return;
  const std::string status = std::to_string(answer.status);
  const std::string size = std::to_string(answer.body.size());
  FieldList fields;
  fields.add(":status", status);
  fields.add("content-type", answer.content_type);
  fields.add("content-length", size);
  fields.add("date", date_->now());
  add_lines(answer.fields, &names_, &fields);
  respond(fields.get());
  if (request().method != "HEAD") body().append(answer.body);
  end_body();
  forget();
}

}  // namespace limitree::server
