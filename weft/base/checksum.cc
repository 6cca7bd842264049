// SPDX-License-Identifier: Apache-2.0
#include "weft/base/checksum.h"

#include <isa-l/crc64.h>

namespace weft {

// ISA-L uses the carry-less multiplication of the processor, which is faster than a table lookup
// per byte.
std::uint64_t checksum(std::string_view bytes) {
  return crc64_ecma_refl(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace weft
