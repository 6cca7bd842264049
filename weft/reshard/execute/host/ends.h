// SPDX-License-Identifier: Apache-2.0
// Both ends of arrays that are cast on the way, as the type that travels: programs and transports
// know that one alone.
//
// What travels is the narrower type, but summands travel as they are, so that sums are rounded
// once. A source of another type stays as it is, and is cast as its regions are read
// (Region::cast). A target of a wider type has room for what travels at its end, from where it is
// spread out after the last round; one of a narrower type is cast from staging, in the end or slab
// by slab.
#pragma once

#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// Bytes of a buffer of the program as its end has them.
Bytes end_bytes(const Program& program, std::size_t buffer);

/// Staging that casts take on the device.
Bytes cast_bytes(const Program& program);

class Ends {
 public:
  /// `given`: memory of both ends. An Error (kUsage) where they are not the host's.
  static Result<Ends> begin(const Program& program, const Buffers& given, Transport& transport);
  /// After each turn: sums that are complete go to their targets. `all`: as_they_travel(), then
  /// staging.
  Status settle(const Turn& turn, const Buffers& all) const;
  /// Targets get their own type.
  Status end() const;

  const Buffers& as_they_travel() const { return travel_; }

 private:
  Ends(const Program& program, const Buffers& given) : program_(&program), given_(given) {}

  const Program* program_;
  Buffers given_, travel_;
  std::vector<Staging> staging_;
};

}  // namespace weft::reshard::execute
