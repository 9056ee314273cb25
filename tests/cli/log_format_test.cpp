#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "failure.hpp"
#include "log_request.hpp"
#include "log_time.hpp"

namespace limitree::cli {
namespace {

// A format, and the last line that it has read.
class Reader {
 public:
  explicit Reader(const std::string& format,
                  const std::vector<std::string>& keys = {})
      : format_(make_log_format(format, keys, &fields_)) {}

  // What is wrong with `line`, or "".
  std::string read(std::string line) {
    line_ = std::move(line);
    const auto mistake = format_->parse(line_, &request_);
    return mistake ? mistake->text() : "";
  }

  std::string operator[](const std::string& name) const {
    const auto field = fields_.find(name);
    return field ? std::string(request_[*field]) : "(no such field)";
  }
  const LogRequest& request() const { return request_; }
  std::string fields() const { return fields_.list(); }

 private:
  LogFields fields_;
  std::unique_ptr<LogFormat> format_;
  std::string line_;
  LogRequest request_;
};

// What is wrong with a format, or "".
std::string refusal(const std::string& format,
                    const std::vector<std::string>& keys = {}) {
  try {
    Reader reader(format, keys);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

constexpr const char* kCombinedOfNginx =
    "$remote_addr - $remote_user [$time_local] \"$request\" $status "
    "$body_bytes_sent \"$http_referer\" \"$http_user_agent\"";

TEST(LogFormat, NginxDescribesTheCombinedFormat) {
  Reader reader(kCombinedOfNginx);
  ASSERT_EQ(reader.read(R"(192.0.2.7 - alex [02/Mar/2026:10:05:03 +0100] )"
                        R"("GET /a\"b?q=c d HTTP/1.1" 200 5120 "-" "a\\")"),
            "");
  EXPECT_EQ(reader["remote_addr"], "192.0.2.7");
  EXPECT_EQ(reader["remote_user"], "alex");
  EXPECT_EQ(reader["method"], "GET");
  EXPECT_EQ(reader["path"], R"(/a\"b)");
  EXPECT_EQ(reader["query"], "q=c d");
  EXPECT_EQ(reader["status"], "200");
  EXPECT_EQ(reader["bytes"], "5120");
  EXPECT_EQ(reader["referer"], "-");
  EXPECT_EQ(reader["user_agent"], R"(a\\)");
  EXPECT_EQ(reader.request().unix_s, 1'772'442'303);
  EXPECT_EQ(reader.request().utc_offset_s, 3600);
}

TEST(LogFormat, NginxMayNameAnyVariable) {
  Reader reader("${msec}|$http_x_api_key|$request_method $request_uri");
  ASSERT_EQ(reader.read("1772442303.250|k 1|POST /a?b"), "");
  EXPECT_EQ(reader["http_x_api_key"], "k 1");
  EXPECT_EQ(reader["target"], "/a?b");
  EXPECT_EQ(reader["path"], "/a");
  EXPECT_EQ(reader["query"], "b");
  EXPECT_EQ(reader["remote_addr"], "(no such field)");
  EXPECT_EQ(reader.fields(), "http_x_api_key, method, path, query, target");
  EXPECT_EQ(reader.request().nanos, 250'000'000);
  ASSERT_EQ(reader.read("1772442303|-|| /"), "");
  EXPECT_EQ(reader["method"], "|");
}

TEST(LogFormat, NginxSaysWhereALineIsWrong) {
  Reader reader("$remote_addr [$time_iso8601] \"$request\" end");
  EXPECT_EQ(reader.read(""), "the line is empty");
  EXPECT_EQ(reader.read("a"), "no ' [' after $remote_addr");
  EXPECT_EQ(reader.read("a [2026-03-02T10:05:03Z"),
            "column 4: no '] \"' after $time_iso8601");
  EXPECT_EQ(reader.read("a [yesterday] \"GET / HTTP/1.1\" end"),
            "column 4: not a time");
  EXPECT_EQ(reader.read(R"(a [2026-03-02T10:05:03Z] "GET \" end)"),
            "column 27: no '\" end' after $request");
  EXPECT_EQ(reader.read("a [2026-03-02T10:05:03Z] \"GET / HTTP/1.1\" END"),
            "column 41: no '\" end' at the end");
  EXPECT_EQ(reader.read("a [2026-03-02T10:05:03Z] \"GET / HTTP/1.1\" end."),
            "column 46: the line goes on after the format");
  EXPECT_EQ(reader.read("a [2026-03-02T10:05:03Z] \"GET / HTTP/1.1\" end"), "");
}

TEST(LogFormat, SaysWhereAFormatIsWrong) {
  EXPECT_EQ(refusal("$remote_addr$msec"),
            "--format, column 13: there must be text between $remote_addr and "
            "$msec");
  EXPECT_EQ(refusal("$msec $"), "--format, column 7: no name after '$'");
  EXPECT_EQ(refusal("a ${msec"), "--format, column 3: a '{' is never closed");
  EXPECT_EQ(refusal("$remote_addr"),
            "--format: no time; there must be $time_local, $time_iso8601 or "
            "$msec");
  std::string many = "$msec";
  for (int i = 0; i < 30; ++i) many += " $v" + std::to_string(i);
  EXPECT_EQ(refusal(many), "--format: more than 32 fields, at $v21");
  EXPECT_EQ(refusal("apache").substr(0, 27), "--format 'apache': must be ");
}

TEST(LogFormat, ReadsLinesOfAlb) {
  Reader reader("alb");
  const std::string end =
      " \"curl/7.46.0\" ECDHE TLSv1.2 arn:aws:x \"Root=1-5\" \"a.example\"";
  const std::string begin = "https 2018-07-02T22:23:00.186641Z app/my/50dc ";
  const std::string middle = " 10.0.0.1:80 0.086 0.048 0.037 200 201 0 57 ";
  ASSERT_EQ(reader.read(begin + "192.0.2.7:2817" + middle +
                        "\"GET https://a.example:443/x?y=z HTTP/1.1\"" + end),
            "");
  EXPECT_EQ(reader["remote_addr"], "192.0.2.7");
  EXPECT_EQ(reader["method"], "GET");
  EXPECT_EQ(reader["path"], "/x");
  EXPECT_EQ(reader["query"], "y=z");
  EXPECT_EQ(reader["target"], "/x?y=z");
  EXPECT_EQ(reader["protocol"], "HTTP/1.1");
  EXPECT_EQ(reader["status"], "200");
  EXPECT_EQ(reader["bytes"], "57");
  EXPECT_EQ(reader["user_agent"], "curl/7.46.0");
  EXPECT_EQ(reader["elb"], "(no such field)");
  EXPECT_EQ(reader.request().unix_s, 1'530'570'180);
  EXPECT_EQ(reader.request().nanos, 186'641'000);
  for (const char* const peer : {"[2001:db8::1]:443", "2001:db8::1:443"}) {
    ASSERT_EQ(reader.read(begin + peer + middle +
                          "\"- http://a.example:80- -\"" + end),
              "");
    EXPECT_EQ(reader["remote_addr"], "2001:db8::1");
  }
  EXPECT_EQ(reader.read("https 2018-07-02T22:23:00"),
            "column 7: no ' ' after $time");
}

TEST(LogFormat, ReadsMembersOfJson) {
  Reader reader("json", {"remote_addr=client.ip", "time=at", "tenant=t.id",
                         "status=code"});
  ASSERT_EQ(reader.read(R"({"client": {"ip": "192.0.2.7", "os": {}}, "at":)"
                        R"( "2026-03-02T10:05:03.5+01:00", "t": {"id": 17},)"
                        R"( "code": [204, 500], "request_method": "PUT",)"
                        R"( "request_uri": "\/a\u0062?c", "bytes": 1.5})"),
            "");
  EXPECT_EQ(reader["remote_addr"], "192.0.2.7");
  EXPECT_EQ(reader["tenant"], "17");
  EXPECT_EQ(reader["status"], "204");
  EXPECT_EQ(reader["method"], "PUT");
  EXPECT_EQ(reader["path"], "/ab");
  EXPECT_EQ(reader["query"], "c");
  EXPECT_EQ(reader["bytes"], "1.5");
  EXPECT_EQ(reader["referer"], "-");
  EXPECT_EQ(reader.request().unix_s, 1'772'442'303);
  EXPECT_EQ(reader.request().nanos, 500'000'000);

  // Nothing is left of the line before; a name with a dot is like a member.
  ASSERT_EQ(reader.read(R"({"at": 1, "client.ip": "192.0.2.8:77",)"
                        R"( "remote_addr": "no", "t": {"id": null}})"),
            "");
  EXPECT_EQ(reader["remote_addr"], "192.0.2.8");
  EXPECT_EQ(reader["tenant"], "-");
  EXPECT_EQ(reader["method"], "-");
}

TEST(LogFormat, SaysWhereJsonIsWrong) {
  Reader reader("json");
  EXPECT_EQ(reader.read(""), "the line is empty");
  for (const char* const line : {"1", "[{\"time\": 1}]", "null", "\"a\""}) {
    EXPECT_EQ(reader.read(line), "the line is not a JSON object") << line;
  }
  EXPECT_EQ(reader.read("{\"time\": 1,}"), "column 12: not JSON here");
  EXPECT_EQ(reader.read("{\"time\": 1} x"), "column 13: not JSON here");
  EXPECT_EQ(reader.read("{\"time\": \"\xff\"}"), "column 11: not JSON here");
  EXPECT_EQ(reader.read("{\"time\": \"now\"}"), "not a time: 'now'");
  EXPECT_EQ(reader.read("{}"),
            "no time: no time or time_iso8601 or time_local or msec");
  EXPECT_EQ(refusal("json", {"remote_addr"}),
            "--field 'remote_addr': must be like remote_addr=client.ip");
  EXPECT_EQ(refusal("json", {"a{b=c"}).substr(0, 16), "--field 'a{b=c':");
  EXPECT_EQ(refusal("combined", {"a=b"}),
            "--field needs --format json, envoy or caddy");
}

TEST(LogFormat, DeepJsonNeedsNoStack) {
  Reader reader("json");
  const std::string open(30'000, '[');
  const std::string close(30'000, ']');
  EXPECT_EQ(reader.read("{\"a\": " + open + close + ", \"time\": 1}"), "");
}

TEST(LogFormat, KnowsEnvoyAndCaddy) {
  Reader envoy("envoy");
  ASSERT_EQ(envoy.read(R"({"start_time": "2026-03-02T09:05:03.310Z",)"
                       R"( "method": "GET", "path": "/a?b",)"
                       R"( "response_code": 200, "bytes_sent": 7,)"
                       R"( "user-agent": "c", "protocol": "HTTP/2",)"
                       R"( "downstream_remote_address": "[2001:db8::1]:9"})"),
            "");
  EXPECT_EQ(envoy["remote_addr"], "2001:db8::1");
  EXPECT_EQ(envoy["path"], "/a");
  EXPECT_EQ(envoy["status"], "200");
  EXPECT_EQ(envoy["user_agent"], "c");
  Reader caddy("caddy");
  ASSERT_EQ(caddy.read(R"({"level": "info", "ts": 1772442303.1234,)"
                       R"( "request": {"remote_ip": "10.0.0.1",)"
                       R"( "client_ip": "192.0.2.7", "proto": "HTTP/2.0",)"
                       R"( "method": "GET", "uri": "/a?b", "headers":)"
                       R"( {"User-Agent": ["curl", "x"]}}, "user_id": "",)"
                       R"( "size": 12, "status": 404})"),
            "");
  EXPECT_EQ(caddy["remote_addr"], "192.0.2.7");
  EXPECT_EQ(caddy["remote_user"], "-");
  EXPECT_EQ(caddy["query"], "b");
  EXPECT_EQ(caddy["user_agent"], "curl");
  EXPECT_EQ(caddy["bytes"], "12");
  EXPECT_EQ(caddy.request().nanos, 123'400'000);
}

TEST(LogTime, ReadsEveryWayToWriteAnInstant) {
  for (const char* const text :
       {"02/Mar/2026:10:05:03 +0100", "2026-03-02T09:05:03Z",
        "2026-03-02t09:05:03z", "2026-03-02 09:05:03",
        "2026-03-02T10:05:03+01:00", "2026-03-02T04:05:03.000-0500",
        "1772442303", "1772442303.0", "1772442303000", "1772442303000000",
        "1772442303000000000"}) {
    LogTime time;
    LogRequest request;
    ASSERT_TRUE(time.parse(text, &request)) << text;
    EXPECT_EQ(request.unix_s, 1'772'442'303) << text;
    EXPECT_EQ(request.nanos, 0) << text;
  }
  LogTime time;
  LogRequest request;
  ASSERT_TRUE(time.parse("1772442303250.75", &request));
  EXPECT_EQ(request.nanos, 250'750'000);
  ASSERT_TRUE(time.parse("2026-03-02T09:05:03,1234567891Z", &request));
  EXPECT_EQ(request.nanos, 123'456'789);
}

TEST(LogTime, RefusesOtherText) {
  for (const char* const text :
       {"", "-", "now", "-1", "1.", "1.5x", "2026-03-02",
        "2026-13-02T09:05:03Z", "2026-02-30T09:05:03Z", "2026-03-02T09:05:03.Z",
        "2026-03-02T09:05:03+1", "2026-03-02T09:05:03 +0100 ",
        "99999999999999999999"}) {
    LogTime time;
    LogRequest request;
    EXPECT_EQ(time.parse(text, &request), std::string(text) == "1.") << text;
  }
}

}  // namespace
}  // namespace limitree::cli
