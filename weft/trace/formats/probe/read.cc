// SPDX-License-Identifier: Apache-2.0
// Reads a log. read_log() decodes the container and calls `use` for each record. Once the header is
// read, it is known which class takes the records (wire, MPI or NCCL).
#include "weft/trace/formats/probe/mpi.h"
#include "weft/trace/formats/probe/nccl.h"
#include "weft/trace/formats/probe/probe.h"
#include "weft/trace/formats/probe/wire.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kOrphans{
    "transfers-of-unknown-connection", Severity::kDataLoss,
    "transfers were left out because the log lacks the record of their connection",
    "record fewer steps, or set WEFT_RECORD_LIMIT to more bytes"};

}  // namespace

Result<ProbeLog> read_probe_log(ByteSource& source, const ReadOptions& options,
                                Diagnostics& diagnostics) {
  ProbeLog log;
  log.file = source.name();
  probe::WireRecords wire;
  probe::MpiRecords mpi;
  probe::NcclRecords nccl;
  probe::LogKind kind = probe::LogKind::kWire;
  const auto use = [&](probe::LogRecord& record) {
    switch (kind) {
      case probe::LogKind::kWire:
        return wire.add(record);
      case probe::LogKind::kMpi:
        return mpi.add(record);
      case probe::LogKind::kNccl:
        return nccl.add(record);
    }
    return false;
  };
  WEFT_ASSIGN(log.from, probe::read_log(
                            source, options, diagnostics,
                            [&](const probe::LogHeader& header) { kind = header.kind; }, use));
  switch (kind) {
    case probe::LogKind::kWire: {
      std::int64_t orphans = 0;
      log.wire = wire.finish(log.epoch, orphans);
      diagnostics.add(kOrphans, log.file, orphans);
      break;
    }
    case probe::LogKind::kMpi:
      log.calls = mpi.calls(log.from, log.file, log.of_calls);
      break;
    case probe::LogKind::kNccl:
      log.wire = nccl.transfers(log.epoch);
      log.calls = nccl.calls(log.from, log.file, log.of_calls);
      break;
  }
  return log;
}

}  // namespace weft::trace
