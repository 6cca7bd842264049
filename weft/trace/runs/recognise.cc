// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/recognise.h"

#include "weft/trace/formats/execution_trace/execution_trace.h"
#include "weft/trace/formats/probe/probe.h"

namespace weft::trace {

Format recognise(std::string_view head) {
  Format format;
  int sure = 0;
  for (const auto& reader : readers()) {
    const int score = reader->recognise(head);
    if (score > sure) {
      sure = score;
      format.reader = reader.get();
    }
  }
  // Execution traces and logs of probes are not recordings by themselves, so they have no Reader.
  format.execution_trace = recognise_execution_trace(head) > sure;
  format.probe_log = probe::is_log(head);
  return format;
}

}  // namespace weft::trace
