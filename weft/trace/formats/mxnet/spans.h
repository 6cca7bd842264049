// SPDX-License-Identifier: Apache-2.0
// Joins the begin and end events of an MXNet profile into spans.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "weft/base/interner.h"
#include "weft/base/units.h"
#include "weft/trace/formats/chrome_events.h"

namespace weft::trace::mxnet {

/// One piece of recorded work. Process and thread ids are 64-bit hashes in the file, so they are
/// kept as interned text.
struct Span {
  NameId process = 0, thread = 0, category = 0, name = 0;
  Nanos start = 0;
  Nanos end = 0;
};

/// One sample of a counter that tells how much memory of a device is in use.
struct MemorySample {
  NameId process = 0, thread = 0, device = 0;  ///< device: "cpu/0"
  Nanos time = 0;
  Bytes in_use = 0;
};

class SpanCollector {
 public:
  /// `arg_name` is the argument "name" of a metadata event. `counter` is the value of a counter
  /// event's only argument, or -1.
  void add(const ChromeEvent& event, std::string_view arg_name, std::int64_t counter);

  const std::vector<Span>& spans() const { return spans_; }
  const std::vector<MemorySample>& memory() const { return memory_; }
  std::string_view text(NameId id) const { return names_.text(id); }
  /// The name that metadata events give to a process, such as "gpu/0" or "MXNET_C_API"; empty if
  /// they give none.
  std::string_view process_name(NameId process) const;
  std::int64_t unmatched() const { return unmatched_; }        ///< ends without a beginning
  std::int64_t unfinished() const;                             ///< beginnings without an end
  std::int64_t without_time() const { return without_time_; }  ///< events without a usable time

 private:
  struct Begun {
    NameId name;
    Nanos start;
  };
  using Key = std::tuple<NameId, NameId, bool>;  ///< process, thread, asynchronous

  void end(const Key& key, const Span& span);

  Interner names_;
  std::map<NameId, std::string> process_names_;
  std::map<Key, std::vector<Begun>> begun_;
  std::vector<Span> spans_;
  std::vector<MemorySample> memory_;
  std::int64_t unmatched_ = 0;
  std::int64_t without_time_ = 0;
};

}  // namespace weft::trace::mxnet
