// SPDX-License-Identifier: Apache-2.0
// Source and target of arrays that are cast on the way. Programs and transports know only the wire
// type, the type in which elements are sent.
//
// The wire type is the narrower of both. Summands are sent in the source's type instead, so that
// sums are rounded only once. A source of another type stays as it is: it is cast while its regions
// are read (Region::cast). A target of a wider type receives into its own memory, at the end of it,
// and is spread out from there after the last round. A target of a narrower type receives into
// staging, and is cast from there at the end or slab by slab.
// by slab.
#pragma once

#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// Bytes of a source or target in its own type.
Bytes end_bytes(const Program& program, std::size_t buffer);

/// Bytes of staging for targets that are cast as a whole at the end.
Bytes cast_bytes(const Program& program);

class Ends {
 public:
  /// `given`: memory of sources and targets. An Error (kUsage) if a cast is needed and the memory
  /// is not the host's. `given`: memory of both ends. An Error (kUsage) where they are not the
  /// host's.
  static Result<Ends> begin(const Program& program, const Buffers& given, Transport& transport);
  /// After each turn: casts sums that are complete into their targets. `all`: wire_buffers(), then
  /// staging.
  Status cast_staged(const Turn& turn, const Buffers& all) const;
  /// After the last round: casts the remaining targets to their own type.
  Status end() const;

  /// The memory of each source and target as the transport sees it, in the wire type.
  const Buffers& wire_buffers() const { return wire_; }

 private:
  Ends(const Program& program, const Buffers& given) : program_(&program), given_(given) {}

  const Program* program_;
  Buffers given_, wire_;
  std::vector<Staging> staging_;
};

}  // namespace weft::reshard::execute
