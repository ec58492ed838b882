// One misuse of the redaction types a case; see must_not_compile.cmake. Case 0 is right and must compile.
#include <string>

#include "broker/redaction/masker.h"
#include "broker/redaction/redactor.h"

using namespace factionos::redaction;

void respond(const Redacted<Boundary::kApiResponse>& value);
void show(MaskedSink& sink, std::string_view raw);

void misuse(const OutputWindow::Text& output, const std::string& raw) {
#if CASE == 0
  respond(Redactor<Boundary::kApiResponse>::masked<Category::kTerminalOutput>(output));
  respond(Redactor<Boundary::kApiResponse>::words("timed_out"));
#elif CASE == 1  // a raw string
  respond(raw);
#elif CASE == 2  // a value of one's own making
  respond(Redacted<Boundary::kApiResponse>(raw));
#elif CASE == 3  // a cell that does not allow it
  (void)Redactor<Boundary::kWebSocketFrame>::masked<Category::kTerminalOutput>(output);
#elif CASE == 4  // anything at all for the hosted boundary
  (void)Redactor<Boundary::kHostedTransfer>::count(1);
#elif CASE == 5  // a value of another boundary
  respond(Redactor<Boundary::kCli>::masked<Category::kTerminalOutput>(output));
#elif CASE == 6  // raw bytes to the window
  OutputWindow().onMasked(MaskedBytes(raw));
#elif CASE == 7  // words that are known at run time alone
  const char buffer[] = {raw[0], '\0'};
  respond(Redactor<Boundary::kApiResponse>::words(buffer));
#endif
}
