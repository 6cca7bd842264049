// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/json_repairs.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kCut{
    "cut-file", Severity::kDataLoss,
    "the file ends in the middle; everything complete up to there was used",
    "copy the file again, or let the profiler finish writing before the job ends"};
constexpr DiagnosticKind kControl{
    "control-characters", Severity::kWarning,
    "raw control characters, which JSON forbids, were kept in texts and ignored elsewhere",
    "harmless if few; a newer PyTorch escapes them"};
constexpr DiagnosticKind kUtf8{"bad-utf8", Severity::kWarning,
                               "bytes that are no UTF-8 were replaced by U+FFFD",
                               "names may look odd; use names of plain characters in annotations"};
constexpr DiagnosticKind kEscape{"bad-escapes", Severity::kWarning,
                                 "broken escapes in texts were kept as they are",
                                 "harmless; some writers do not double the backslashes of paths"};
constexpr DiagnosticKind kNotNumber{
    "not-a-number", Severity::kWarning,
    "NaN or infinity stand where JSON wants a number; they were taken as missing",
    "harmless in statistics; events whose times are affected are reported apart"};
constexpr DiagnosticKind kComma{"stray-commas", Severity::kInfo, "commas too many were ignored",
                                "nothing needs to be done"};
constexpr DiagnosticKind kLong{"long-texts", Severity::kDataLoss,
                               "texts of more than 16 MiB were left out",
                               "the file is probably damaged; copy it again"};

}  // namespace

void report_repairs(const JsonScanner& scanner, const ByteSource& source, Diagnostics& diagnostics,
                    OpenEnd open_end) {
  const auto report = [&](const DiagnosticKind& kind, const JsonRepair& repair) {
    diagnostics.add(kind, source.name() + ": byte " + std::to_string(repair.first_byte),
                    repair.count);
  };
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
