// SPDX-License-Identifier: Apache-2.0
// What stands in a Horovod timeline, put in order. The file has one process a tensor; each use of a
// tensor is a negotiation (until every rank is ready) followed by the operation with its activities
// inside. Horovod fuses tensors that are ready together into one *response*, which all ranks carry
// out as one collective.
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

struct Activity {
  NameId name = 0;
  Nanos start = 0;
  Nanos end = -1;
};

/// One use of one tensor. Times are -1 where the file does not tell.
struct TensorUse {
  std::uint32_t tensor = 0;
  NameId operation = 0;  ///< "ALLREDUCE"
  Nanos negotiated_from = -1;
  Nanos negotiated = -1;
  std::vector<std::pair<std::int32_t, Nanos>> ready;  ///< rank, when the coordinator heard of it
  Nanos start = -1;
  Nanos end = -1;
  std::string dtype;
  std::int64_t elements = -1;
  std::vector<Activity> activities;
  std::uint32_t fused_with = 0;  ///< an earlier use of the same response, or itself
};

/// One collective: the uses of one or more tensors that were carried out together.
struct Response {
  std::vector<std::uint32_t> uses;
  Nanos start = 0;
  Nanos end = 0;
};

/// Gathers the events of a file, in the order of the file.
class Timeline {
 public:
  struct Args {
    std::string_view name, dtype, shape;
    std::int64_t epoch_micros = -1;
  };

  void add(const ChromeEvent& event, const Args& args);
  /// By start. Uses that never ended (the job was killed) are in none.
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
    std::uint32_t use = kNoUse;  ///< at hand
    std::uint32_t open = 0;      ///< spans begun and not ended
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
  /// The last entry of the file, if an activity began there: the next of the same name is fused.
  NameId last_activity_ = 0;
  std::uint32_t last_use_ = kNoUse;
  Nanos epoch_ = 0;
  std::int64_t unmatched_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t without_time_ = 0;
};

}  // namespace weft::trace::horovod
