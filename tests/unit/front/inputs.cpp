#include "tests/unit/front/inputs.h"

#include <utility>

namespace factionos::front::test {
namespace {

using std::string;

constexpr auto kOpen = End::kOpen;
constexpr auto kClosed = End::kClosed;

string bytes(std::string_view text) {
  return string(text);
}

string withLine(std::string_view requestLine, std::string_view lines = "Host: localhost\r\n") {
  return bytes(requestLine) + "\r\n" + bytes(lines) + "\r\n";
}

string chunked(std::string_view body) {
  return post("Transfer-Encoding: chunked\r\n", body);
}

string repeated(std::string_view text, int times) {
  string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

void refused(std::vector<Input>& to, const char* name, string text, int status) {
  to.push_back({name, std::move(text), {status}, kClosed, Judge::kHeader});
}

void passed(std::vector<Input>& to, const char* name, string text, std::vector<int> statuses, End end) {
  to.push_back({name, std::move(text), std::move(statuses), end, Judge::kRoute});
}

void addLengths(std::vector<Input>& to) {
  passed(to, "00 good", post("Content-Length: 2\r\n", "{}"), {202}, kOpen);
  refused(to, "01 CL+TE, smuggle",
          post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG" + smuggled()), 411);
  refused(to, "02 TE+CL, smuggle",
          post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "5c\r\n" + smuggled()), 411);
  refused(to, "03 CL 5 / CL 6", post("Content-Length: 5\r\nContent-Length: 6\r\n", "{}    "), 400);
  refused(to, "04 CL 5 / CL 5", post("Content-Length: 5\r\nContent-Length: 5\r\n", "{}   "), 400);
  refused(to, "05 CL \"5, 5\"", post("Content-Length: 5, 5\r\n", "{}   "), 400);
  refused(to, "06 CL +5", post("Content-Length: +5\r\n", "{}   "), 400);
  refused(to, "07 CL -1", post("Content-Length: -1\r\n", "{}"), 400);
  refused(to, "08 CL 0x5", post("Content-Length: 0x5\r\n", "{}   "), 400);
  refused(to, "09 CL 20 digits", post("Content-Length: 99999999999999999999\r\n", "{}"), 400);
  refused(to, "09b CL empty", post("Content-Length:\r\n", ""), 400);
  refused(to, "09c CL \"5 5\"", post("Content-Length: 5 5\r\n", "{}   "), 400);
}

void addLines(std::vector<Input>& to) {
  refused(to, "10 bare LF", "GET /healthz HTTP/1.1\nHost: localhost\n\n", 400);
  refused(to, "10b one bare LF header", "GET /healthz HTTP/1.1\r\nHost: localhost\nX-A: b\r\n\r\n", 400);
  refused(to, "11 bare CR in value", get("X-A: b\rc\r\n"), 400);
  refused(to, "11b bare CR + smuggled CL", get("X-A: b\rContent-Length: 5\r\n"), 400);
  refused(to, "12 obs-fold", get("X-A: b\r\n c\r\n"), 400);
  refused(to, "12b obs-fold first hdr", "GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n", 400);
  refused(to, "12c obs-fold in TE", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), 400);
  refused(to, "13 NUL in value", get(string("X-A: b\0c\r\n", 10)), 400);
  refused(to, "14 NUL in target", string("GET /heal\0thz HTTP/1.1\r\nHost: localhost\r\n\r\n", 43), 400);
  refused(to, "14b NUL in name", get(string("X-\0A: b\r\n", 9)), 400);
  refused(to, "15 space before colon", get("X-A : b\r\n"), 400);
  refused(to, "15b tab before colon", get("X-A\t: b\r\n"), 400);
  refused(to, "16 \"TE : chunked\" + CL",
          post("Transfer-Encoding : chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400);
  refused(to, "17 TE xchunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 411);
  refused(to, "18 TE chunked, identity", post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), 411);
  refused(to, "18b TE gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 411);
  refused(to, "18c TE identity + CL", post("Transfer-Encoding: identity\r\nContent-Length: 2\r\n", "{}"),
          411);
  refused(to, "19 TE twice",
          post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 411);
  refused(to, "19b TE chunked in HTTP/1.0",
          "POST /event HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411);
}

void addChunks(std::vector<Input>& to) {
  const std::pair<const char*, string> bodies[] = {
      {"20 chunk ZZ", "ZZ\r\n{}\r\n0\r\n\r\n"},
      {"21 chunk 17 hex digits", "10000000000000002\r\n{}\r\n0\r\n\r\n"},
      {"21b chunk 17 digits, 0-pad", "00000000000000002\r\n{}\r\n0\r\n\r\n"},
      {"21c chunk FFFFFFFFFFFFFFFF", "FFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"},
      {"22 chunk extension", "2;a=b\r\n{}\r\n0\r\n\r\n"},
      {"22b chunk ext 20 KiB", "2;a=" + string(20480, 'b') + "\r\n{}\r\n0\r\n\r\n"},
      {"22c chunk ext with bare LF", "2;a\n=b\r\n{}\r\n0\r\n\r\n"},
      {"23 chunk data overrun", "2\r\n{}x\r\n0\r\n\r\n"},
      {"24 chunk bare LF", "2\n{}\r\n0\r\n\r\n"},
      {"24b chunk data end bare LF", "2\r\n{}\n0\r\n\r\n"},
      {"24c chunk bare CR", "2\r{}\r\n0\r\n\r\n"},
      {"25 trailer", "2\r\n{}\r\n0\r\nX-T: a\r\n\r\n"},
      {"25b trailer then request", "2\r\n{}\r\n0\r\nX-T: a\r\n\r\n" + smuggled()},
      {"25c trailer = request line", "2\r\n{}\r\n0\r\nGET /smuggled HTTP/1.1\r\n\r\n"},
      {"25d trailer CL/TE/Host",
       "2\r\n{}\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\nHost: a\r\n\r\n"},
      {"25e trailers 64 KiB",
       "2\r\n{}\r\n0\r\n" + repeated("X-T: " + string(1000, 'a') + "\r\n", 64) + "\r\n"},
      {"26 chunk -5", "-5\r\n{}\r\n0\r\n\r\n"},
      {"26a chunk -1", "-1\r\n{}\r\n0\r\n\r\n"},
      {"26b chunk +10", "+10\r\n{}\r\n0\r\n\r\n"},
      {"26c chunk 0x10", "0x10\r\n{}\r\n0\r\n\r\n"},
      {"26d junk after size", "2junk\r\n{}\r\n0\r\n\r\n"},
      {"26e space after size", "2 \r\n{}\r\n0\r\n\r\n"},
      {"26f space before size", " 2\r\n{}\r\n0\r\n\r\n"},
      {"26g empty size", "\r\n{}\r\n0\r\n\r\n"},
      {"49b chunked 2 MB", "200000\r\n" + string(2097152, ' ') + "\r\n0\r\n\r\n"},
  };
  for (const auto& [name, body] : bodies) refused(to, name, chunked(body), 411);
}

void addSizes(std::vector<Input>& to) {
  passed(to, "27 header 8 KiB", get("X-A: " + string(8192, 'a') + "\r\n"), {200}, kOpen);
  refused(to, "27b header 64 KiB", get("X-A: " + string(65537, 'a') + "\r\n"), 431);
  refused(to, "27c header 1 MiB", get("X-A: " + string(1048576, 'a') + "\r\n"), 431);
  refused(to, "27d 64 KiB of 1 KiB headers", get(repeated("X-A: " + string(1017, 'a') + "\r\n", 64)), 431);
  passed(to, "28a 100 headers", get(repeated("X-A: b\r\n", 99)), {200}, kOpen);
  refused(to, "28 101 headers", get(repeated("X-A: b\r\n", 100)), 431);
  refused(to, "28b 5000 headers", get(repeated("A: b\r\n", 5000)), 431);
  passed(to, "49 body 2 MB (limit 1 MiB)",
         "POST /v1/terminal/run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + bytes(kGoodToken) +
             "\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 2097152\r\n\r\n" +
             string(2097152, ' '),
         {413}, kClosed);
  passed(to, "49c body 9 MiB (limit 8 MiB)", post("Content-Length: 9437184\r\n", string(65536, ' ')), {413},
         kClosed);
  refused(to, "53 target 9 KiB", withLine("GET /" + string(9216, 'a') + " HTTP/1.1"), 414);
  refused(to, "53a target 8 KiB + 1", withLine("GET /" + string(8192, 'a') + " HTTP/1.1"), 414);
  refused(to, "53b target 100 KiB", withLine("GET /" + string(102400, 'a') + " HTTP/1.1"), 414);
}

void addHosts(std::vector<Input>& to) {
  refused(to, "29 no Host", withLine("GET /healthz HTTP/1.1", ""), 400);
  refused(to, "30 two Hosts", get("Host: localhost\r\n"), 400);
  passed(to, "30b Host \"a, b\"", withLine("GET /healthz HTTP/1.1", "Host: a, b\r\n"), {400}, kClosed);
  refused(to, "37 absolute-form, other host", withLine("GET http://evil.example/healthz HTTP/1.1"), 400);
  refused(to, "51 CONNECT", withLine("CONNECT localhost:443 HTTP/1.1"), 400);
  refused(to, "51b OPTIONS *", withLine("OPTIONS * HTTP/1.1"), 400);
}

void addRequestLines(std::vector<Input>& to) {
  refused(to, "31 HTTP/1.0", withLine("GET /healthz HTTP/1.0", ""), 400);
  passed(to, "31b HTTP/1.0 with Host", withLine("GET /healthz HTTP/1.0"), {200}, kClosed);
  refused(to, "32 HTTP/2.0", withLine("GET /healthz HTTP/2.0"), 505);
  refused(to, "33 HTTP/9.9", withLine("GET /healthz HTTP/9.9"), 505);
  refused(to, "33b HTTP/1.2", withLine("GET /healthz HTTP/1.2"), 505);
  refused(to, "34 no version", withLine("GET /healthz"), 400);
  refused(to, "38 leading CRLFs", "\r\n\r\n" + get(), 400);
  refused(to, "39 TLS hello", string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + string(506, 'x'),
          400);
  refused(to, "40 two spaces in req line", withLine("GET  /healthz HTTP/1.1"), 400);
  refused(to, "40b space in target", withLine("GET /heal thz HTTP/1.1"), 400);
  refused(to, "40c tab separators", withLine("GET\t/healthz\tHTTP/1.1"), 400);
  refused(to, "43b high bytes in target", withLine("GET /healthz\xc3\xa9 HTTP/1.1"), 400);
  refused(to, "55 PRI preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400);
  const string token = "Host: localhost\r\nAuthorization: Bearer " + bytes(kGoodToken) + "\r\n";
  passed(to, "35 method FROB", withLine("FROB /healthz HTTP/1.1", token), {405}, kOpen);
  passed(to, "36 lowercase get", withLine("get /healthz HTTP/1.1", token), {405}, kOpen);
}

void addFields(std::vector<Input>& to) {
  refused(to, "41 empty name", get(": b\r\n"), 400);
  refused(to, "42 no colon", get("X-A b\r\n"), 400);
  refused(to, "42b bad char in name", get("X(A): b\r\n"), 400);
  passed(to, "43 high bytes in value", get("X-A: \xc3\xa9\xff\r\n"), {200}, kOpen);
  passed(to, "45 Connection: close + more", get("Connection: close\r\n") + smuggled(), {200}, kClosed);
  passed(to, "46 Expect 100", post("Expect: 100-continue\r\nContent-Length: 2\r\n", ""), {100}, kOpen);
  refused(to, "46b Expect other", post("Expect: 200-ok\r\nContent-Length: 2\r\n", "{}"), 417);
  refused(to, "46c Expect twice",
          post("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 2\r\n", "{}"), 417);
}

void addMethods(std::vector<Input>& to) {
  const string hidden = smuggled();
  const string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n";
  passed(to, "48 GET with body", get(length) + hidden, {400}, kClosed);
  passed(to, "48a HEAD with body",
         withLine("HEAD /healthz HTTP/1.1", "Host: localhost\r\n" + length) + hidden, {400}, kClosed);
  passed(to, "52 HEAD", withLine("HEAD /healthz HTTP/1.1"), {200}, kOpen);
  passed(to, "54 GET Upgrade h2c",
         get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n") + hidden,
         {200}, kClosed);
  passed(to, "60 two requests in one segment", get() + get(), {200, 200}, kOpen);
  passed(to, "99 good after all", get(), {200}, kOpen);
}

}  // namespace

string smuggled() {
  return "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Smuggled: yes\r\n\r\n";
}

string get(std::string_view lines) {
  return withLine("GET /healthz HTTP/1.1", "Host: localhost\r\n" + bytes(lines));
}

string post(std::string_view lines, std::string_view body) {
  return "POST /event HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + bytes(kGoodToken) +
         "\r\nContent-Type: application/json\r\n" + bytes(lines) + "\r\n" + bytes(body);
}

const std::vector<Input>& inputs() {
  static const std::vector<Input> all = [] {
    std::vector<Input> list;
    addLengths(list);
    addLines(list);
    addChunks(list);
    addSizes(list);
    addHosts(list);
    addRequestLines(list);
    addFields(list);
    addMethods(list);
    return list;
  }();
  return all;
}

}  // namespace factionos::front::test
