// SPDX-License-Identifier: Apache-2.0
// The scanner treats the file as a sequence of JSON values and does not care about line ends. Line
// ends matter only after damage: reading resumes at the next line that begins with '{'. A file may
// be damaged because several processes wrote to it at the same time.
#include "weft/trace/formats/nccl/lines.h"

#include "weft/base/decimal.h"
#include "weft/trace/formats/json_repairs.h"

namespace weft::trace::nccl {
namespace {

constexpr DiagnosticKind kDamaged{"damaged-lines", Severity::kDataLoss,
                                  "lines that are not valid JSON were left out",
                                  "copy the file again; several processes may have written to it"};
constexpr std::int64_t kLinesBetweenProgress = 1024;
constexpr Nanos kLatest = Nanos{1} << 61;  // sums and differences of times fit into 64 bits

}  // namespace

Status read_lines(JsonScanner& scanner, const ByteSource& source, const ReadOptions& options,
                  Diagnostics& diagnostics, const std::function<void()>& record) {
  const auto place = [&] { return source.name() + ": byte " + std::to_string(scanner.offset()); };
  for (std::int64_t line = 0;; ++line) {
    if (options.progress && line % kLinesBetweenProgress == 0 &&
        !options.progress(scanner.offset())) {
      return fail(ErrorCode::kCancelled, "interrupted", source.name());
    }
    const JsonKind kind = scanner.peek();
    if (kind == JsonKind::kObject) {
      scanner.enter();
      scanner.hold();  // keeps all texts of the line valid until release()
      record();
      scanner.release();
    } else if (kind != JsonKind::kNothing) {
      scanner.skip();
    }
    if (scanner.broken()) {
      diagnostics.add(kDamaged, place());
      if (!scanner.resync("\n{")) break;  // resume at the next line that begins an object
    } else if (kind == JsonKind::kNothing || scanner.cut()) {
      break;
    }
  }
  report_repairs(scanner, source, diagnostics);
  return scanner.status();
}

void read_members(JsonScanner& scanner, const std::function<void(std::string_view key)>& member) {
  if (scanner.peek() != JsonKind::kObject) return scanner.skip();
  scanner.enter();
  std::string_view key;
  while (scanner.next_key(key)) member(key);
}

Nanos read_micros(JsonScanner& scanner) {
  const auto time = parse_thousandths(scanner.number_or_string());
  return time && *time >= 0 && *time < kLatest ? *time : -1;
}

std::int64_t read_count(JsonScanner& scanner) {
  std::int64_t value = -1;
  return scanner.integer(value) && value >= 0 ? value : -1;
}

}  // namespace weft::trace::nccl
