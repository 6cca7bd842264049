// SPDX-License-Identifier: Apache-2.0
// Reads sizes and replica groups of collectives from XLA's description of a program (HLO). The
// events of a profile have only the name of the instruction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/units.h"

namespace weft::trace::xplane {

/// Returns the collective that an instruction belongs to: "all-reduce" for "all-reduce-start.12",
/// "all-gather" for "%all-gather.3". Returns "" for instructions that do not communicate.
std::string_view collective_of_instruction(std::string_view name);

struct HloCollective {
  std::string dtype;           ///< for example "Float"; "Byte" if the arrays have several types
  std::int64_t elements = -1;  ///< size of the result in elements of dtype; -1 if unknown
  std::vector<std::vector<std::int64_t>> groups;  ///< device ids; empty means all devices
};

/// The collectives of all programs in a file.
class HloCollectives {
 public:
  /// `name` is the program's name in profiles, for example "jit_step(12)". `proto` is an HloProto
  /// message. Throws protozero's exceptions if the message is damaged.
  void add_program(std::string_view name, std::string_view proto);
  /// Parses the text of an instruction, which TPU profiles use as the name of an op:
  /// "%all-reduce.1 = f32[128,32]{1,0} all-reduce(...), replica_groups={{0,1},{2,3}}, ...".
  static HloCollective from_text(std::string_view instruction);
  /// Looks in the program with this name and number; if there is none, in all programs with this
  /// name. Null if the instruction is not found.
  const HloCollective* find(std::string_view program, std::int64_t number,
                            std::string_view instruction) const;

 private:
  std::map<std::string, std::map<std::string, HloCollective, std::less<>>, std::less<>> programs_;
};

}  // namespace weft::trace::xplane
