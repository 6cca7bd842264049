// SPDX-License-Identifier: Apache-2.0
// The container of what probes write (docs/formats/log.md): a header and chunks of records. What
// the records mean is the matter of wire.h, mpi.h and nccl.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weft/base/diagnostics.h"
#include "weft/base/file.h"
#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/trace/reader.h"

namespace weft::trace::probe {

enum class LogKind : std::uint32_t { kWire = 1, kMpi = 2, kNccl = 3 };

/// As probes/log/log.h has them.
enum class RecordType : std::uint8_t {
  kThread = 1,
  kWindow = 2,
  kConnection = 16,
  kSend = 17,
  kReceive = 18,
  kMpiCommunicator = 32,
  kMpiCall = 33,
  kMpiWait = 34,
  kNcclCommunicator = 48,
  kNcclStart = 49,
  kNcclState = 50,
  kNcclStop = 51,
};

struct LogHeader {
  LogKind kind = LogKind::kWire;
  std::int64_t process = -1;
  std::int32_t rank = -1;
  std::int32_t world = -1;
  std::string role;
  std::string host;
};

/// The fields of a record, taken in order. After one that is not there, ok() is false and every
/// further one 0 or empty.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number();
  std::int64_t signed_number();
  /// A number that is a size, a count or a length: fails beyond 2^62.
  std::int64_t amount();
  std::string_view bytes(std::size_t size);
  std::string_view text();
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct LogRecord {
  RecordType type = RecordType::kThread;
  Nanos time = 0;           ///< since the Unix epoch
  std::int64_t thread = 0;  ///< which wrote it
  Fields fields{{}};
};

bool is_log(std::string_view head);

/// Calls `use` for each record but those of kThread; it returns false for one it cannot use, which
/// is then counted. Chunks come in the order of the file: those of a thread in order of time.
/// Reports what the recording lost and how it ended. Fails if the header cannot be used.
Result<LogHeader> read_log(ByteSource& source, const ReadOptions& options, Diagnostics& diagnostics,
                           const std::function<void(const LogHeader&)>& begin,
                           const std::function<bool(LogRecord&)>& use);

}  // namespace weft::trace::probe
