// SPDX-License-Identifier: Apache-2.0
// Checks that any input gives an execution trace or an Error, and that any execution trace can be
// attached to a profile.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/trace/formats/execution_trace/execution_trace.h"
#include "weft/trace/formats/kineto/kineto.h"

namespace {

using namespace weft;
using namespace weft::trace;

constexpr std::string_view kProfile = R"({"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":1,"dur":1,"args":{"Input Dims":[[[64]],[]]}},
{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":3,"dur":1},
{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":5,"dur":1,"args":{"Group size":8}}]})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto source = memory_source(text, "et_1.json", 1 + size % 61);
  Diagnostics diagnostics;
  recognise_execution_trace(text);
  const auto execution = read_execution_trace(*source, {}, diagnostics);
  if (!execution) return 0;
  for (const ExecutionNode& node : execution->nodes) {
    WEFT_CHECK(node.name < execution->names.size());
    WEFT_CHECK(node.collective == kNone || node.collective < execution->collectives.size());
    WEFT_CHECK(node.input_bytes >= 0 && node.output_bytes >= 0);
  }
  const auto profile = memory_source(kProfile, "kineto_1.json");
  auto traces = make_kineto_reader()->read(*profile, {}, diagnostics);
  WEFT_CHECK(traces.has_value());
  attach(traces->front(), *execution, diagnostics);
  return 0;
}
