// SPDX-License-Identifier: Apache-2.0
// Reads the container that all probes write: a header and chunks of records. docs/formats/log.md
// describes it. wire.h, mpi.h and nccl.h interpret the records.
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

/// The same numbers as enum weft_record_type in probes/log/log.h.
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

/// Which process wrote the log; -1 or empty if unknown.
struct LogHeader {
  LogKind kind = LogKind::kWire;
  std::int64_t process = -1;
  std::int32_t rank = -1;
  std::int32_t world = -1;
  std::string role;  ///< for example "worker" or "server"
  std::string host;
};

/// Reads the fields of a record in order. If a field is missing or invalid, ok() becomes false, and
/// this and all further fields are 0 or empty.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number();
  std::int64_t signed_number();
  /// A number that is a size, a count or a duration; fails above 2^62.
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
  std::int64_t thread = 0;  ///< system id of the thread that wrote the record
  Fields fields{{}};
};

/// Whether a file that begins with `head` is a log.
bool is_log(std::string_view head);

/// Calls `begin` once with the header, then `use` for each record except kThread records. `use`
/// returns false for a record that it cannot use; such records are counted as damage. Chunks come
/// in the order of the file, so records of one thread come in order of time but threads alternate.
/// Reports what the recording lost and how it ended. Fails if the header cannot be used.
Result<LogHeader> read_log(ByteSource& source, const ReadOptions& options, Diagnostics& diagnostics,
                           const std::function<void(const LogHeader&)>& begin,
                           const std::function<bool(LogRecord&)>& use);

}  // namespace weft::trace::probe
