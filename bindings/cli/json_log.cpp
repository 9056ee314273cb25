// Reads lines that are JSON objects.

#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "log_values.hpp"

namespace limitree::cli {

namespace {

using Json = nlohmann::json;

// What the parser calls.  It keeps the values of the keys that are asked for,
// and builds no tree.
class Values : public nlohmann::json_sax<Json> {
 public:
  explicit Values(std::vector<JsonKey> keys) : keys_(std::move(keys)) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      by_key_.emplace(keys_[i].key, i);
    }
    texts_.resize(keys_.size());
    found_.resize(keys_.size());
  }

  void start() {
    path_.clear();
    sizes_.clear();
    found_.assign(found_.size(), false);
    error_at_ = 0;
    is_object_ = false;
  }

  std::size_t error_at() const { return error_at_; }
  bool is_object() const { return is_object_; }

  void give(LogValues* values) const {
    for (std::size_t i = keys_.size(); i-- > 0;) {
      if (found_[i]) values->set(keys_[i].slot, texts_[i]);
    }
  }

  // The text of the first key for the time that the line has, or nullptr.
  const std::string* time() const {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (found_[i] && keys_[i].slot == Slot::kTime) return &texts_[i];
    }
    return nullptr;
  }

  bool null() override { return true; }
  bool boolean(bool value) override { return take(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return take_number(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return take_number(value);
  }
  bool number_float(number_float_t, const string_t& text) override {
    return take(text);
  }
  bool string(string_t& text) override { return take(text); }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    is_object_ = true;
    sizes_.push_back(path_.size());
    return true;
  }
  bool key(string_t& name) override {
    path_.resize(sizes_.back());
    if (!path_.empty()) path_ += '.';
    path_ += name;
    return true;
  }
  bool end_object() override {
    path_.resize(sizes_.back());
    sizes_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return is_object_; }
  bool end_array() override { return true; }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error_at_ = position;
    return false;
  }

 private:
  bool take(std::string_view text) {
    if (!is_object_) return false;
    const auto known = by_key_.find(path_);
    if (known != by_key_.end() && !found_[known->second] && !text.empty()) {
      found_[known->second] = true;
      texts_[known->second] = text;
    }
    return true;
  }

  template <typename Number>
  bool take_number(Number value) {
    std::array<char, 24> text;
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return take({text.data(), static_cast<std::size_t>(end - text.data())});
  }

  std::vector<JsonKey> keys_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::vector<std::string> texts_;  // by key
  std::vector<bool> found_;
  std::string path_;                // of the value that comes next
  std::vector<std::size_t> sizes_;  // of path_, outside of each object
  std::size_t error_at_ = 0;
  bool is_object_ = false;
};

class JsonLog : public LogFormat {
 public:
  explicit JsonLog(std::vector<JsonKey> keys) {
    for (const JsonKey& key : keys) {
      if (key.slot != Slot::kTime) continue;
      time_keys_ += (time_keys_.empty() ? "" : " or ") + key.key;
    }
    found_ = std::make_unique<Values>(std::move(keys));
  }

  std::optional<LineMistake> parse(std::string_view line,
                                   LogRequest* request) override {
    if (line.empty()) return LineMistake{"the line is empty"};
    found_->start();
    const bool whole = Json::sax_parse(line.begin(), line.end(), found_.get());
    if (!found_->is_object() && found_->error_at() == 0) {
      return LineMistake{"the line is not a JSON object", 1};
    }
    if (!whole) return LineMistake{"not JSON here", found_->error_at()};
    values_.start();
    found_->give(&values_);
    if (!values_.finish(request)) return std::nullopt;
    const std::string* const time = found_->time();
    reason_ = time == nullptr ? "no time: no " + time_keys_
                              : "not a time: '" + time->substr(0, 100) + "'";
    return LineMistake{reason_};
  }

 private:
  std::string time_keys_;
  std::unique_ptr<Values> found_;
  std::string reason_;
  LogValues values_;
};

}  // namespace

std::unique_ptr<LogFormat> make_json_log(std::vector<JsonKey> keys) {
  return std::make_unique<JsonLog>(std::move(keys));
}

}  // namespace limitree::cli
