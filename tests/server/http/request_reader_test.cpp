#include "http/request_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace limitree::server {
namespace {

using Step = RequestReader::Step;

constexpr RequestLimits kLimits{1000, 100};

struct Read {
  std::vector<std::string> requests;  // "POST /a?b [x-y=1] body" and its end
  int status = 0;
  std::string reason;
};

std::string text_of(const HttpRequest& request, bool keeps_alive) {
  std::string text = request.method + ' ' + std::string(request.path());
  if (!request.query().empty()) text += '?' + std::string(request.query());
  if (request.count("x-y") > 0) {
    text += " [x-y=" + std::string(request.field("x-y")) + ']';
  }
  if (!request.body.empty()) text += ' ' + request.body;
  return text + (keeps_alive ? "" : " last");
}

// Gives `bytes` in pieces of `piece` bytes.
Read read(std::string_view bytes, std::size_t piece) {
  HttpRequest request;
  RequestReader reader(&request, kLimits);
  Read found;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view part = bytes.substr(at, piece);
    while (!part.empty()) {
      const Step step = reader.next(&part);
      if (step == Step::kBad) {
        found.status = reader.status();
        found.reason = reader.reason();
        return found;
      }
      if (step == Step::kMore) break;
      found.requests.push_back(text_of(request, reader.keeps_alive()));
      request.clear();
      if (!reader.keeps_alive()) return found;
    }
  }
  return found;
}

// The same, which must not depend on the pieces.
Read read(std::string_view bytes) {
  const Read whole = read(bytes, bytes.size());
  for (const std::size_t piece : {1u, 2u, 3u, 7u, 50u}) {
    const Read found = read(bytes, piece);
    EXPECT_EQ(found.requests, whole.requests) << piece;
    EXPECT_EQ(found.status, whole.status) << piece;
  }
  return whole;
}

TEST(RequestReader, ReadsOneAfterTheOther) {
  const Read found = read(
      "GET /a?b HTTP/1.1\r\nHost: x\r\nX-Y: 1\r\n\r\n"
      "\r\nPOST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
      "HEAD http://x/d HTTP/1.1\r\nHOST:x\r\nX-Y:\r\n\r\n");
  EXPECT_EQ(found.requests,
            (std::vector<std::string>{"GET /a?b [x-y=1]", "POST /c body",
                                      "HEAD /d [x-y=]"}));
  EXPECT_EQ(found.status, 0);
}

TEST(RequestReader, ReadsChunks) {
  const Read found = read(
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;e=1\r\none\r\n3\r\ntwo\r\n0\r\nX-Y: 1\r\n\r\n"
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(found.requests,
            (std::vector<std::string>{"POST /c onetwo", "GET /"}));
}

TEST(RequestReader, KnowsWhichRequestIsTheLast) {
  const auto requests = [](const char* bytes) { return read(bytes).requests; };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(requests("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                     "GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
            Texts{"GET / last"});
  EXPECT_EQ(requests("GET / HTTP/1.0\r\n\r\n"), Texts{"GET / last"});
  EXPECT_EQ(requests("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            Texts{"GET /"});
}

TEST(RequestReader, DoesNotUpgrade) {
  const Read found = read(
      "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
      "Content-Length: 2\r\n\r\nab"
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
      "\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(found.requests,
            (std::vector<std::string>{"POST / ab", "GET /", "GET /b"}));
}

TEST(RequestReader, RefusesWhatIsMalformed) {
  for (const char* const bytes : {
           "\x16\x03\x01\x02\r\n\r\n",
           "GET\r\n\r\n",
           "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\nX-Y: 1\r\n\t2\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\nX-Y:\r\n  2\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\nX-Y:  \r\n \r\n  2\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\n:\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
           "Content-Length: 2\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
           "Transfer-Encoding: chunked\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
           "x\r\n",
       }) {
    const Read found = read(bytes);
    EXPECT_EQ(found.status, 400) << bytes;
    EXPECT_TRUE(found.reason.starts_with("the request is malformed: "))
        << found.reason;
    EXPECT_TRUE(found.requests.empty()) << bytes;
  }
}

TEST(RequestReader, TakesBlanksInValues) {
  const std::string blanks(300, ' ');
  const Read found = read("GET / HTTP/1.1\r\nHost: x\r\nX-Y: \t a" + blanks +
                          "b \t \r\nZ:\r\n\r\n");
  EXPECT_EQ(found.status, 0) << found.reason;
  EXPECT_EQ(found.requests,
            std::vector<std::string>{"GET / [x-y=a" + blanks + "b]"});
}

TEST(RequestReader, TakesNoCodingButChunked) {
  const auto post = [](const std::string& version, const std::string& fields) {
    return read("POST / HTTP/" + version + "\r\nHost: x\r\n" + fields +
                "\r\n0\r\n\r\n");
  };
  EXPECT_EQ(post("1.1", "Transfer-Encoding: Chunked\r\n").status, 0);
  for (const char* const coding :
       {"gzip, chunked", "gzip,chunked", "chunked, chunked",
        "x;a=chunked,"
        " chunked"}) {
    const Read found =
        post("1.1", "Transfer-Encoding: " + std::string(coding) + "\r\n");
    EXPECT_TRUE(found.status == 501 || found.status == 400) << coding;
    EXPECT_TRUE(found.requests.empty()) << coding;
  }
  EXPECT_EQ(post("1.1", "Transfer-Encoding: gzip, chunked\r\n").status, 501);
  EXPECT_EQ(
      post("1.1", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n")
          .status,
      400);
  const Read old = post("1.0", "Transfer-Encoding: chunked\r\n");
  EXPECT_EQ(old.status, 400);
  EXPECT_EQ(old.reason, "HTTP/1.0 has no Transfer-Encoding");
}

TEST(RequestReader, WantsOneHost) {
  for (const char* const bytes :
       {"GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n"}) {
    const Read found = read(bytes);
    EXPECT_EQ(found.status, 400) << bytes;
    EXPECT_EQ(found.reason, "a request has one field Host");
  }
}

TEST(RequestReader, RefusesWhatItIsNotFor) {
  EXPECT_EQ(read("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n").status, 501);
  EXPECT_EQ(read("GET / HTTP/2.0\r\nHost: x\r\n\r\n").status, 505);
}

TEST(RequestReader, BoundsTheHeader) {
  const std::string start = "GET / HTTP/1.1\r\nHost: x\r\n";
  const std::string large(1000, 'x');
  EXPECT_EQ(read(start + "X-Y: " + large + "\r\n\r\n").status, 431);
  EXPECT_EQ(read(start + large + ": y\r\n\r\n").status, 431);
  EXPECT_EQ(read("GET /" + large + " HTTP/1.1\r\nHost: x\r\n\r\n").status, 431);
  // Each field costs memory of its own.
  std::string many = start;
  for (int i = 0; i < 50; ++i) many += "a: b\r\n";
  const Read found = read(many + "\r\n");
  EXPECT_EQ(found.status, 431);
  EXPECT_EQ(found.reason, "the header is larger than 1000 bytes");
  // Also after the body.
  EXPECT_EQ(read("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                 "\r\n0\r\nX-Y: " +
                 large + "\r\n\r\n")
                .status,
            431);
}

TEST(RequestReader, BoundsTheBody) {
  const std::string start = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string fits(100, 'x');
  EXPECT_EQ(read(start + "Content-Length: 100\r\n\r\n" + fits).requests,
            std::vector<std::string>{"POST / " + fits});
  const Read found = read(start + "Content-Length: 101\r\n\r\n");
  EXPECT_EQ(found.status, 413);
  EXPECT_EQ(found.reason, "the body is larger than 100 bytes");
  EXPECT_EQ(read(start + "Content-Length: 18446744073709551615\r\n\r\n").status,
            413);
  EXPECT_EQ(read(start + "Transfer-Encoding: chunked\r\n\r\n64\r\n" + fits +
                 "\r\n1\r\nx\r\n0\r\n\r\n")
                .status,
            413);
}

TEST(RequestReader, TellsOnceThatTheClientWaits) {
  HttpRequest request;
  RequestReader reader(&request, kLimits);
  std::string_view bytes =
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n"
      "Content-Length: 2\r\n\r\n";
  EXPECT_EQ(reader.next(&bytes), Step::kMore);
  EXPECT_TRUE(reader.take_expectation());
  EXPECT_FALSE(reader.take_expectation());
  bytes = "ab";
  EXPECT_EQ(reader.next(&bytes), Step::kRequest);
  EXPECT_EQ(request.body, "ab");
}

TEST(RequestReader, ABodyThatHasComeIsNotWaitedFor) {
  for (const char* const rest :
       {"Expect: 100-continue\r\nContent-Length: 2\r\n\r\na",
        "Expect: else\r\nContent-Length: 2\r\n\r\n",
        "Expect: 100-continue-\r\nContent-Length: 2\r\n\r\n",
        "Content-Length: 2\r\n\r\n"}) {
    HttpRequest request;
    RequestReader reader(&request, kLimits);
    const std::string all =
        std::string("POST / HTTP/1.1\r\nHost: x\r\n") + rest;
    std::string_view bytes = all;
    EXPECT_EQ(reader.next(&bytes), Step::kMore);
    EXPECT_FALSE(reader.take_expectation()) << rest;
  }
}

TEST(RequestReader, TellsWhetherARequestHasBegun) {
  HttpRequest request;
  RequestReader reader(&request, kLimits);
  EXPECT_FALSE(reader.has_begun());
  std::string_view bytes = "G";
  reader.next(&bytes);
  EXPECT_TRUE(reader.has_begun());
  bytes = "ET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(reader.next(&bytes), Step::kRequest);
  EXPECT_FALSE(reader.has_begun());
}

}  // namespace
}  // namespace limitree::server
