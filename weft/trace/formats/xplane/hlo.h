// SPDX-License-Identifier: Apache-2.0
// What XLA's own description of a program tells about its collectives: how much they move and
// between whom. Profiles hold only the instruction's name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/units.h"

namespace weft::trace::xplane {

/// "all-reduce" of "all-reduce-start.12", "all-gather" of "%all-gather.3"; empty for instructions
/// that do not communicate.
std::string_view collective_of_instruction(std::string_view name);

struct HloCollective {
  std::string dtype;           ///< "Float", "BFloat16" ...; "Byte" if types are mixed
  std::int64_t elements = -1;  ///< of the result, in units of dtype; -1 unknown
  std::vector<std::vector<std::int64_t>> groups;  ///< of devices; empty: all of them
};

class HloCollectives {
 public:
  /// `name` as profiles spell it, "jit_step(12)"; `proto` an HloProto. Throws protozero's
  /// exceptions if it is damaged.
  void add_program(std::string_view name, std::string_view proto);
  /// From the text of an instruction, as TPU profiles name their ops:
  /// "%all-reduce.1 = f32[128,32]{1,0} all-reduce(...), replica_groups={{0,1},{2,3}}, ...".
  static HloCollective from_text(std::string_view instruction);
  /// Null if no program of that name (its number is looked at first) holds the instruction.
  const HloCollective* find(std::string_view program, std::int64_t number,
                            std::string_view instruction) const;

 private:
  std::map<std::string, std::map<std::string, HloCollective, std::less<>>, std::less<>> programs_;
};

}  // namespace weft::trace::xplane
