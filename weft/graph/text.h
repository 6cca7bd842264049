// SPDX-License-Identifier: Apache-2.0
// The text form of a graph, which tests are written in. parse(print(g)) == print-identical.
//
//   lane r0/cpu host 0            # name, kind (host | stream | link), rank
//   lane r0/s7 stream 0
//   step 4                        # ops that follow belong to step 4
//   a: launch r0/cpu 5us "aten::mm"
//   k: kernel r0/s7 100us "gemm" bytes=4096 at=12us took=101us after a+3us:launch, j:order
//   c: collective allreduce ranks=2 bytes=1048576 group=0 seq=7 transfer=t arrivals=x,y
//
// Times take ns, us, ms or s. Edge kinds after ':' default to order; '?' behind marks an inferred one.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph/graph.h"

namespace weft::graph {

Result<Graph> parse_text(std::string_view text);
std::string print_text(const Graph& graph);

}  // namespace weft::graph
