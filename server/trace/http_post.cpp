#include "trace/http_post.hpp"

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <new>

#include "io/failure.hpp"

namespace limitree::server {

namespace {

// Nobody reads the answer.
std::size_t ignore(char* /*bytes*/, std::size_t size, std::size_t count,
                   void* /*unused*/) {
  return size * count;
}

struct EndCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// OTLP allows sending again after these.
bool is_passing(long status) {
  return status == 429 || (status >= 502 && status <= 504);
}

// A field in the form of libcurl, in which an empty value is special.
std::string field_text(const std::string& name, const std::string& value) {
  return value.empty() ? name + ';' : name + ": " + value;
}

// What libcurl keeps for one URL.
class Client {
 public:
  explicit Client(const OtlpSettings& settings)
      : settings_(settings),
        url_(signal_url(settings)),
        shown_(shown_url(url_)),
        curl_(start()) {
    set_fields();
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_POST, 1L);
    set(CURLOPT_USERAGENT, "limitree");
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(settings.timeout / kMillisecond));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_WRITEFUNCTION, ignore);
    set(CURLOPT_ERRORBUFFER, error_);
    set_file(CURLOPT_CAINFO, settings.ca_file);
    set_file(CURLOPT_SSLCERT, settings.cert_file);
    set_file(CURLOPT_SSLKEY, settings.key_file);
  }

  PostResult send(std::string_view message) {
    try {
      if (!settings_.headers_file.empty()) set_fields();
    } catch (const Failure& failure) {
      return {false, true, failure.what()};
    }
    set(CURLOPT_POSTFIELDS, message.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(message.size()));
    error_[0] = '\0';
    const CURLcode code = curl_easy_perform(curl_.get());
    if (code != CURLE_OK) {
      const std::string why =
          error_[0] != '\0' ? error_ : curl_easy_strerror(code);
      return {false, true, shown_ + ": " + why};
    }
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) return {true, false, {}};
    return {false, is_passing(status),
            shown_ + ": status " + std::to_string(status)};
  }

 private:
  static CURL* start() {
    static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL* const curl = global == CURLE_OK ? curl_easy_init() : nullptr;
    if (curl == nullptr) throw Failure("cannot start libcurl");
    return curl;
  }

  template <typename Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(curl_.get(), option, value) != CURLE_OK) {
      throw Failure(shown_ + ": libcurl does not take the settings");
    }
  }

  void set_file(CURLoption option, const std::string& name) {
    if (!name.empty()) set(option, name.c_str());
  }

  void set_fields() {
    const auto more = header_fields(settings_);
    set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
    fields_.reset();
    add_field("Content-Type: application/x-protobuf");
    add_field("Expect:");  // do not ask the server before the message
    for (const auto& [name, value] : more) add_field(field_text(name, value));
    set(CURLOPT_HTTPHEADER, fields_.get());
  }

  void add_field(const std::string& field) {
    curl_slist* const longer = curl_slist_append(fields_.get(), field.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(fields_.release());
    fields_.reset(longer);
  }

  const OtlpSettings settings_;
  const std::string url_;
  const std::string shown_;
  std::unique_ptr<CURL, EndCurl> curl_;
  std::unique_ptr<curl_slist, FreeList> fields_;
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace

HttpPost make_http_post(const OtlpSettings& settings) {
  return [client = std::make_shared<Client>(settings)](
             std::string_view message) { return client->send(message); };
}

}  // namespace limitree::server
