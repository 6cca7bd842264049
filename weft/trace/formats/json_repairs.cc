// SPDX-License-Identifier: Apache-2.0
// All JSON readers use these diagnostics, so that damage is described in the same words for all
// formats. Each diagnostic gives the byte of the first occurrence and the number of occurrences.
#include "weft/trace/formats/json_repairs.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kCut{
    "cut-file", Severity::kDataLoss,
    "the file ends too early; all complete events before the end were used",
    "copy the file again, or let the profiler finish writing before the job ends"};
constexpr DiagnosticKind kControl{
    "control-characters", Severity::kWarning,
    "JSON forbids raw control characters; they were kept in strings and ignored elsewhere",
    "nothing needs to be done if there are few; a newer PyTorch escapes them"};
constexpr DiagnosticKind kUtf8{"bad-utf8", Severity::kWarning,
                               "bytes that are not valid UTF-8 were replaced by U+FFFD",
                               "some names may look odd; use only ASCII in annotations"};
constexpr DiagnosticKind kEscape{"bad-escapes", Severity::kWarning,
                                 "invalid escape sequences in strings were kept unchanged",
                                 "nothing needs to be done; some programs write the backslashes of "
                                 "paths without escaping them"};
constexpr DiagnosticKind kNotNumber{
    "not-a-number", Severity::kWarning,
    "numbers are NaN or infinity, which JSON forbids; they were treated as missing",
    "nothing needs to be done; events that lose their time this way are reported separately"};
constexpr DiagnosticKind kComma{"stray-commas", Severity::kInfo, "surplus commas were ignored",
                                "nothing needs to be done"};
constexpr DiagnosticKind kLong{"long-texts", Severity::kDataLoss,
                               "strings of more than 16 MiB were left out",
                               "the file is probably damaged; copy it again"};

}  // namespace

void report_repairs(const JsonScanner& scanner, const ByteSource& source, Diagnostics& diagnostics,
                    OpenEnd open_end) {
  const auto report = [&](const DiagnosticKind& kind, const JsonRepair& repair) {
    diagnostics.add(kind, source.name() + ": byte " + std::to_string(repair.first_byte),
                    repair.count);
  };
  // If a gzip stream is cut (truncated()), data is missing, even if the text happens to end between
  // two events.
  if (open_end == OpenEnd::kLoss && (scanner.cut() || source.truncated())) {
    diagnostics.add(kCut, source.name() + ": byte " + std::to_string(scanner.offset()));
  }
  const JsonRepairs& repairs = scanner.repairs();
  report(kControl, repairs.control_characters);
  report(kUtf8, repairs.bad_utf8);
  report(kEscape, repairs.bad_escapes);
  report(kNotNumber, repairs.not_numbers);
  report(kComma, repairs.stray_commas);
  report(kLong, repairs.long_texts);
}

}  // namespace weft::trace
