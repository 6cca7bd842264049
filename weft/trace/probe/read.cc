// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/probe/probe.h"
#include "weft/trace/probe/wire.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kOrphans{
    "transfers-of-unknown-connection", Severity::kDataLoss,
    "transfers were left out because the record of their connection is missing",
    "record fewer steps, or set WEFT_RECORD_LIMIT to more bytes"};

}  // namespace

Result<ProbeLog> read_probe_log(ByteSource& source, const ReadOptions& options,
                                Diagnostics& diagnostics) {
  ProbeLog log;
  log.file = source.name();
  probe::WireRecords wire;
  WEFT_ASSIGN(log.from, probe::read_log(
                            source, options, diagnostics, [](const probe::LogHeader&) {},
                            [&](probe::LogRecord& record) { return wire.add(record); }));
  std::int64_t orphans = 0;
  log.wire = wire.finish(log.epoch, orphans);
  diagnostics.add(kOrphans, log.file, orphans);
  return log;
}

}  // namespace weft::trace
