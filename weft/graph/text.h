// SPDX-License-Identifier: Apache-2.0
// Parses and prints the text form of a graph. Tests write their graphs in this form. If a printed
// graph is parsed and printed again, the text is the same.
//
//   lane r0/cpu host 0            # name, kind (host | stream | link), rank (- for a link)
//   lane "r0/stream 7" stream 0   # names with spaces are quoted
//   steps 3 4                     # only needed if a step has no op
//   step 4                        # ops that follow belong to step 4 (none: before the first step)
//   a: launch r0/cpu 5us "aten::mm"
//   k: kernel "r0/stream 7" 100us "gemm" bytes=4096 at=12us took=101us event=3 after a+3us:launch
//   c: collective allreduce ranks=2 bytes=1048576 group=0 seq=7 transfer=t arrivals=x,y
//
// An op line is  LABEL: KIND LANE DURATION ["NAME"] [key=value ...] [after EDGE, EDGE ...]  and an
// edge is  LABEL[+DELAY][:KIND][?]  where KIND defaults to order and '?' marks an inferred edge.
// Times take ns, us, ms or s and may have decimals down to one nanosecond. A lane may also be given
// by its position, as @0. Labels may be used before they are defined. `of=c` makes an op point to
// the collective c although c does not list the op. '#' starts a comment.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph/graph.h"

namespace weft::graph {

/// Parses a text and verifies the graph. If the lines are already in topological order, the ids of
/// ops have the order of the lines. An Error names the line, and its `byte` is the offset of that
/// line. O(n log n).
Result<Graph> parse_text(std::string_view text);
/// Prints a graph, which must pass verify(). The labels of ops are o0, o1 ... by id, and those of
/// collectives are c0, c1 ... Linear.
std::string print_text(const Graph& graph);

/// The names of kinds in the text form: "kernel", "stream", "event_wait", "allreduce" ...
std::string_view kind_name(OpKind kind);
std::string_view kind_name(LaneKind kind);
std::string_view kind_name(EdgeKind kind);
std::string_view kind_name(CollectiveKind kind);

}  // namespace weft::graph
