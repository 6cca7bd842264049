// SPDX-License-Identifier: Apache-2.0
// Gathers the events of a Horovod timeline into collectives. The file shows each tensor as a Chrome
// process. Each use of a tensor is a negotiation (until every rank is ready) followed by the
// operation, which contains activities. Horovod fuses tensors that are ready together into one
// *response*, which all ranks execute as one collective.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/interner.h"
#include "weft/base/units.h"
#include "weft/trace/formats/chrome_events.h"

namespace weft::trace::horovod {

/// A part of an operation, for example "MEMCPY_IN_FUSION_BUFFER" or "NCCL_ALLREDUCE".
struct Activity {
  NameId name = 0;
  Nanos start = 0;
  Nanos end = -1;  ///< -1 if the file has no end
};

/// One use of one tensor. Times are relative to Timeline::epoch(); -1 if the file does not have
/// them.
struct TensorUse {
  std::uint32_t tensor = 0;
  NameId operation = 0;        ///< for example "ALLREDUCE"
  Nanos negotiated_from = -1;  ///< start of the negotiation
  Nanos negotiated = -1;       ///< end of the negotiation
  /// Ready marks: rank, and when the coordinator received the rank's message.
  std::vector<std::pair<std::int32_t, Nanos>> ready;
  Nanos start = -1;
  Nanos end = -1;
  std::string dtype;
  std::int64_t elements = -1;
  std::vector<Activity> activities;
  /// Parent in a union-find forest of the uses in one response: an earlier use, or this use itself.
  std::uint32_t fused_with = 0;
};

/// One collective: the uses of one or more tensors that were executed together.
struct Response {
  std::vector<std::uint32_t> uses;
  Nanos start = 0;
  Nanos end = 0;
};

/// Takes the events of a file, in the order of the file.
class Timeline {
 public:
  struct Args {
    std::string_view name, dtype, shape;
    std::int64_t epoch_micros = -1;
  };

  void add(const ChromeEvent& event, const Args& args);
  /// All collectives, sorted by start. Leaves out uses that never ended (the job was killed).
  std::vector<Response> responses() const;

  const TensorUse& use(std::uint32_t index) const { return uses_[index]; }
  std::string_view tensor_name(const TensorUse& use) const { return tensors_[use.tensor].name; }
  std::string_view text(NameId id) const { return names_.text(id); }
  std::size_t tensors() const { return tensors_.size(); }
  Nanos epoch() const { return epoch_; }
  std::int64_t unmatched() const { return unmatched_; }  ///< ends without a beginning
  std::int64_t unfinished() const;                       ///< beginnings without an end
  std::int64_t without_time() const { return without_time_; }

 private:
  struct Tensor {
    std::string name;
    std::uint32_t use = kNoUse;  ///< the current or last use
    std::uint32_t open = 0;      ///< number of nested spans that have begun and not ended
    bool negotiating = false;
  };
  static constexpr std::uint32_t kNoUse = 0xffffffffu;

  Tensor& tensor_of(std::int64_t process);
  TensorUse& new_use(Tensor& tensor);
  void begin(Tensor& tensor, std::string_view name, Nanos time);
  void begin_activity(Tensor& tensor, NameId name, Nanos time);
  void end(Tensor& tensor, Nanos time, const Args& args);
  std::uint32_t leader(std::uint32_t use) const;

  Interner names_;
  std::vector<Tensor> tensors_;
  std::map<std::int64_t, std::uint32_t> by_process_;
  std::vector<TensorUse> uses_;
  /// If the last event of the file began an activity: its name, and the use to which it belongs.
  /// Otherwise last_use_ is kNoUse. If the next event begins an activity of the same name, the two
  /// tensors are fused.
  NameId last_activity_ = 0;
  std::uint32_t last_use_ = kNoUse;
  Nanos epoch_ = 0;
  std::int64_t unmatched_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t without_time_ = 0;
};

}  // namespace weft::trace::horovod
