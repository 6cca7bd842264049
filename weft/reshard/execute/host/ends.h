// SPDX-License-Identifier: Apache-2.0
// The ends (source and target) of arrays whose element type changes. Programs and transports know
// only the wire type, which is the type in which elements are sent.
//
// The wire type is the narrower of the types of source and target. Summands are an exception: they
// are sent in the source's type, so that sums are rounded only once. If an end has another type
// than the wire type, there are three cases:
// - A source stays as it is. It is cast while its regions are read (Region::cast).
// - A target of a wider type receives the sent elements at the end of its own memory. After the
//   last round they are cast in place, from the first element to the last.
// - A target of a narrower type receives into staging. It is cast from there at the end, or slab by
//   slab.
#pragma once

#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// Bytes of a source or target in its own type.
Bytes end_bytes(const Program& program, std::size_t buffer);

/// The bytes of staging for targets that are cast as a whole at the end.
Bytes cast_bytes(const Program& program);

class Ends {
 public:
  /// `given` is the memory of sources and targets. Returns an Error (kUsage) if a cast is needed
  /// and this memory is not the host's.
  static Result<Ends> begin(const Program& program, const Buffers& given, Transport& transport);
  /// Call this after each turn. Casts sums that are complete into their targets. `all` are the
  /// wire_buffers(), followed by staging.
  Status cast_staged(const Turn& turn, const Buffers& all) const;
  /// Call this after the last round. Casts the remaining targets to their own type.
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
