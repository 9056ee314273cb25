#include "redis_scan.hpp"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

#include "failure.hpp"
#include "format.hpp"
#include "redis_place.hpp"

namespace limitree::cli {

namespace {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

std::string text_of(const redisReply& reply) {
  return reply.str == nullptr ? std::string()
                              : std::string(reply.str, reply.len);
}

int digit_of(char one) {
  if (one >= '0' && one <= '9') return one - '0';
  if (one >= 'A' && one <= 'F') return one - 'A' + 10;
  return -1;
}

// Appends the segments of "user:al%3Aex"; false if it is not such a text.
bool read_segments(std::string_view text, std::vector<std::string>* segments) {
  std::string segment;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == ':') {
      segments->push_back(std::exchange(segment, {}));
    } else if (text[i] != '%') {
      // Only the hash of a longer one begins so; a plain "~" is "%7E" here.
      if (text[i] == '~' && segment.empty()) return false;
      segment += text[i];
    } else if (i + 2 < text.size() && digit_of(text[i + 1]) >= 0 &&
               digit_of(text[i + 2]) >= 0) {
      segment +=
          static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    } else if (i + 1 == text.size() || text[i + 1] == ':') {
      // "%" alone is the empty segment.
    } else {
      return false;
    }
  }
  return true;
}

// The path of a field, without the name of a limit and the mark of an
// algorithm: "trade" of "trade#name!fw".
std::string_view path_of(std::string_view field) {
  field = field.substr(0, field.find('#'));
  const std::size_t mark = field.rfind('!');
  // A mark has two letters.
  return mark != field.npos && mark + 3 == field.size() ? field.substr(0, mark)
                                                        : field;
}

// Reads the name of a family of buckets: "user:alex" and its fields, such as
// "trade:spot#name!fw".  Returns false if it is not one, or cannot be read
// back because it was too long.
bool read_names(std::string_view tag, const std::vector<std::string>& fields,
                FoundCaller* caller) {
  caller->path.clear();
  caller->below.clear();
  if (tag.empty() || !read_segments(tag, &caller->path)) return false;
  std::set<std::string_view> paths;
  for (const std::string& field : fields) paths.insert(path_of(field));
  for (const std::string_view path : paths) {
    std::vector<std::string>& below = caller->below.emplace_back();
    if (!path.empty() && !read_segments(path, &below)) caller->below.pop_back();
  }
  return true;
}

}  // namespace

// A connection to one server.
class RedisScan::Server {
 public:
  Server(const RedisPlace& place, const RedisLogin& login) {
    const timeval patience{2, 0};
    context_.reset(
        place.path.empty()
            ? redisConnectWithTimeout(place.host.c_str(), place.port, patience)
            : redisConnectUnixWithTimeout(place.path.c_str(), patience));
    if (context_ == nullptr) throw FileError("out of memory");
    name_ = printable(place.text(), false);
    check();
    redisSetTimeout(context_.get(), patience);
    if (!login.password.empty()) {
      if (login.user.empty()) {
        ask({"AUTH", login.password});
      } else {
        ask({"AUTH", login.user, login.password});
      }
    }
    if (login.db != "0" && !login.db.empty()) ask({"SELECT", login.db});
  }

  // Throws if the answer is an error, unless `may_fail`.
  Reply ask(std::initializer_list<std::string> words, bool may_fail = false) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    Reply reply(static_cast<redisReply*>(
        redisCommandArgv(context_.get(), static_cast<int>(texts.size()),
                         texts.data(), sizes.data())));
    check();
    if (reply == nullptr) throw FileError(name_ + ": no answer");
    if (reply->type == REDIS_REPLY_ERROR && !may_fail) {
      throw FileError(name_ + ": " + refusal(*words.begin(), *reply));
    }
    return reply;
  }

  // One SCAN.  Appends the names, without prefix and braces.
  bool scan(const std::string& prefix, std::vector<std::string>* tags) {
    const Reply reply = ask({"SCAN", cursor_, "MATCH", pattern_of(prefix),
                             "COUNT", std::to_string(kCount)});
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) {
      throw FileError(name_ + ": SCAN has an answer of another form");
    }
    cursor_ = text_of(*reply->element[0]);
    const redisReply& keys = *reply->element[1];
    for (std::size_t i = 0; i < keys.elements; ++i) {
      const std::string key = text_of(*keys.element[i]);
      // What comes after the brace is a part of a bucket of the same caller.
      if (key.size() > prefix.size() + 2 && key.ends_with('}')) {
        tags->push_back(
            key.substr(prefix.size() + 1, key.size() - prefix.size() - 2));
      }
    }
    return cursor_ == "0";
  }

  // The names of its fields, at most about kMostFields.
  std::vector<std::string> fields_of(const std::string& key) {
    constexpr const char* kMostFields = "64";
    std::vector<std::string> fields;
    // Not a hash, or gone: not ours, or full again.
    const Reply reply = ask({"HSCAN", key, "0", "COUNT", kMostFields}, true);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) return fields;
    const redisReply& all = *reply->element[1];
    for (std::size_t i = 0; i + 1 < all.elements; i += 2) {
      fields.push_back(text_of(*all.element[i]));
    }
    return fields;
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  // What an error says to people.  That of AUTH may repeat the password.
  static std::string refusal(const std::string& word, const redisReply& error) {
    const std::string text = text_of(error);
    if (word != "AUTH") return printable(text, false);
    return text.starts_with("WRONGPASS ") ? "AUTH was refused: WRONGPASS"
                                          : "AUTH was refused";
  }

  // A prefix may have signs that mean something in a pattern.
  static std::string pattern_of(const std::string& prefix) {
    std::string pattern;
    for (const char one : prefix) {
      if (std::string_view("*?[]\\").find(one) != std::string_view::npos) {
        pattern += '\\';
      }
      pattern += one;
    }
    return pattern + "{*";
  }

  void check() const {
    if (context_->err != 0) throw FileError(name_ + ": " + context_->errstr);
  }

  std::unique_ptr<redisContext, Free> context_;
  std::string name_;
  std::string cursor_ = "0";

 public:
  bool done = false;  // all of it is read in this pass
};

namespace {

// The first line of a file: "password", or "user:password".
void read_password(const std::string& name, RedisLogin* login) {
  std::ifstream file(name);
  std::string line;
  if (!std::getline(file, line)) throw FileError(name + ": has no password");
  if (line.ends_with('\r')) line.pop_back();
  const std::size_t colon = line.find(':');
  if (login->user.empty() && colon != line.npos) {
    login->user = line.substr(0, colon);
    line.erase(0, colon + 1);
  }
  login->password = line;
}

RedisPlace place_in(const redisReply& list) {
  RedisPlace place;
  if (list.type != REDIS_REPLY_ARRAY || list.elements < 2) return place;
  place.host = text_of(*list.element[0]);
  const redisReply& port = *list.element[1];
  place.port = port.type == REDIS_REPLY_INTEGER
                   ? static_cast<int>(port.integer)
                   : std::atoi(text_of(port).c_str());
  return place;
}

// The primaries in an answer to CLUSTER SLOTS.
std::vector<RedisPlace> primaries_in(const redisReply& slots,
                                     const RedisPlace& asked) {
  std::vector<RedisPlace> all;
  for (std::size_t i = 0; i < slots.elements; ++i) {
    const redisReply& range = *slots.element[i];
    if (range.type != REDIS_REPLY_ARRAY || range.elements < 3) continue;
    RedisPlace place = place_in(*range.element[2]);
    if (place.host.empty()) place.host = asked.host;
    const bool known = std::ranges::any_of(
        all, [&](const RedisPlace& one) { return one.text() == place.text(); });
    if (!known && place.port > 0) all.push_back(place);
  }
  return all;
}

}  // namespace

RedisScan::RedisScan(const std::string& url,
                     const std::vector<std::string>& settings) {
  RedisUrl store = read_redis_place(url);
  for (const std::string& setting : settings) {
    const std::size_t mark = setting.find('=');
    if (mark == setting.npos) continue;
    const std::string name = setting.substr(0, mark);
    const std::string value = setting.substr(mark + 1);
    if (name == "prefix") prefix_ = value;
    set_option(name, value, &store);
  }
  if (!store.password_file.empty()) {
    read_password(store.password_file, &store.login);
  }
  if (!store.sentinel_password_file.empty()) {
    read_password(store.sentinel_password_file, &store.sentinel_login);
  }
  std::string trouble = "no server answers";
  for (const RedisPlace& place : store.places) {
    try {
      if (store.kind == RedisUrl::Kind::kServer) {
        servers_.push_back(std::make_unique<Server>(place, store.login));
        return;
      }
      if (store.kind == RedisUrl::Kind::kSentinel) {
        const Reply reply =
            Server(place, store.sentinel_login)
                .ask({"SENTINEL", "get-master-addr-by-name", store.service});
        const RedisPlace primary = place_in(*reply);
        if (primary.host.empty()) {
          throw FileError("no sentinel knows " + store.service);
        }
        servers_.push_back(std::make_unique<Server>(primary, store.login));
        return;
      }
      const Reply slots = Server(place, store.login).ask({"CLUSTER", "SLOTS"});
      for (const RedisPlace& primary : primaries_in(*slots, place)) {
        servers_.push_back(std::make_unique<Server>(primary, store.login));
      }
      if (!servers_.empty()) return;
    } catch (const FileError& error) {
      servers_.clear();
      trouble = error.what();
    }
  }
  throw FileError(trouble);
}

RedisScan::~RedisScan() = default;

bool RedisScan::next(std::vector<FoundCaller>* callers) {
  for (const std::unique_ptr<Server>& server : servers_) {
    if (server->done) continue;
    std::vector<std::string> tags;
    server->done = server->scan(prefix_, &tags);
    for (const std::string& tag : tags) {
      FoundCaller caller;
      const std::vector<std::string> fields =
          server->fields_of(prefix_ + '{' + tag + '}');
      if (!fields.empty() && read_names(tag, fields, &caller)) {
        callers->push_back(std::move(caller));
      }
    }
  }
  const bool complete = std::ranges::all_of(
      servers_, [](const auto& server) { return server->done; });
  if (complete) {
    for (const std::unique_ptr<Server>& server : servers_) server->done = false;
  }
  return complete;
}

std::size_t RedisScan::primaries() const { return servers_.size(); }

}  // namespace limitree::cli
