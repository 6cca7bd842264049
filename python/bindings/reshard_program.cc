// SPDX-License-Identifier: Apache-2.0
// Programs for Python: what one device sends, receives, copies and adds up to carry out plans.
// Python sends and receives the pieces itself, with torch.distributed or JAX, and calls back to
// pack and unpack those that are not contiguous in their arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/reshard.h"
#include "weft/reshard/execute/host/combine.h"
#include "weft/reshard/execute/host/run_all.h"
#include "weft/reshard/execute/program/packets.h"

namespace weft::python {

namespace nb = nanobind;
using namespace reshard::execute;

struct Prepared {
  Program program;
  std::vector<PacketTurn> turns;
  std::vector<std::int64_t> devices;  ///< the user's number of each device

  const PacketTurn& turn(std::size_t number) const {
    if (number >= turns.size()) raise(out_of_range("turn", number, turns.size()));
    return turns[number];
  }
  static const Packet& packet(const std::vector<Packet>& list, std::size_t number) {
    if (number >= list.size()) raise(out_of_range("piece", number, list.size()));
    return list[number];
  }

 private:
  static Error out_of_range(const char* what, std::size_t number, std::size_t count) {
    return Error{ErrorCode::kUsage,
                 "there is no " + std::string(what) + " " + std::to_string(number) + ", only " +
                     std::to_string(count) + " numbered from 0",
                 {},
                 -1};
  }
};
const Program& program_in(const PyProgram& program) { return program.prepared->program; }
const std::vector<std::int64_t>& devices_in(const PyProgram& program) {
  return program.prepared->devices;
}

namespace {

using PreparedPtr = std::shared_ptr<const Prepared>;

/// A contiguous region of at least this size is sent from and received into its array directly.
/// Smaller regions are packed, several into one message.
constexpr Bytes kLeastDirect = 1 << 16;

/// A program bound to the memory that it works on.
struct PyMemory {
  PreparedPtr prepared;
  Buffers buffers;
};

std::vector<Array> arrays_of(const std::vector<PyPlan>& plans) {
  std::vector<Array> arrays;
  for (const PyPlan& plan : plans) {
    arrays.push_back({&plan.array->problem, &plan.array->plan, plan.array->elements});
  }
  return arrays;
}

Result<PyProgram> program_of(const std::vector<PyPlan>& plans, std::int64_t device, Bytes budget) {
  if (plans.empty()) return fail(ErrorCode::kUsage, "plans: a program needs at least one plan");
  const std::vector<std::int64_t>& devices = plans[0].array->problem.devices;
  const auto found = std::lower_bound(devices.begin(), devices.end(), device);
  if (found == devices.end() || *found != device) {
    return fail(ErrorCode::kUsage,
                "device " + std::to_string(device) + " does not take part in these plans");
  }
  auto result = std::make_shared<Prepared>();
  WEFT_ASSIGN(result->program,
              make_program(arrays_of(plans), static_cast<reshard::Device>(found - devices.begin()),
                           ProgramOptions{budget}));
  // Every device checks here, before any data moves, that all reductions are possible. Otherwise
  // one device could fail in the middle of the exchange and leave the others waiting.
  for (const Elements& elements : result->program.elements) {
    if (!elements.reduction.empty()) WEFT_TRY(combine_rows(elements));
  }
  result->turns = packets_of(result->program, kLeastDirect);
  result->devices = devices;
  return PyProgram{std::move(result)};
}

/// A piece as Python gets it: device, bytes, buffer, offset; see ReshardProgram in _core.pyi. Plain
/// tuples are enough, because the Python side reads them only once per program.
using PieceFacts = std::tuple<std::int64_t, Bytes, std::int32_t, Bytes>;

std::vector<PieceFacts> facts(const Prepared& self, const std::vector<Packet>& packets) {
  std::vector<PieceFacts> list;
  for (const Packet& packet : packets) {
    const Region& first = packet.parts[0].region;
    const bool direct = packet.direct();
    list.emplace_back(self.devices[packet.peer], packet.bytes, direct ? first.buffer : -1,
                      direct ? first.offset : 0);
  }
  return list;
}

/// A region of strided memory as Python gets it: buffer, array, offset, bytes of an element, loops
/// as (extent, stride in bytes).
using RegionFacts = std::tuple<std::int32_t, std::int32_t, Bytes, Bytes,
                               std::vector<std::pair<std::int64_t, std::int64_t>>>;

RegionFacts facts(const Region& region) {
  std::vector<std::pair<std::int64_t, std::int64_t>> loops;
  for (const Loop& loop : region.loops) loops.emplace_back(loop.extent, loop.stride);
  return {region.buffer, region.array, region.offset, region.element, std::move(loops)};
}
std::vector<RegionFacts> facts(const std::vector<Region>& regions) {
  std::vector<RegionFacts> list;
  for (const Region& region : regions) list.push_back(facts(region));
  return list;
}
std::vector<std::pair<RegionFacts, RegionFacts>> facts(const std::vector<Move>& moves) {
  std::vector<std::pair<RegionFacts, RegionFacts>> list;
  for (const Move& item : moves) list.emplace_back(facts(item.from), facts(item.to));
  return list;
}
std::vector<std::pair<RegionFacts, bool>> facts(const Packet& packet) {
  std::vector<std::pair<RegionFacts, bool>> list;
  for (const Packet::Part& part : packet.parts) list.emplace_back(facts(part.region), part.add);
  return list;
}

Bytes longest_packed(const Prepared& self) {
  Bytes longest = 0;
  for (const PacketTurn& turn : self.turns) {
    for (const auto* list : {&turn.sends, &turn.receives}) {
      for (const Packet& packet : *list) {
        if (!packet.direct()) longest = std::max(longest, packet.bytes);
      }
    }
  }
  return longest;
}

Buffers buffers_at(const std::vector<std::uintptr_t>& addresses) {
  Buffers buffers;
  for (const std::uintptr_t address : addresses) {
    buffers.push_back(reinterpret_cast<std::byte*>(address));
  }
  return buffers;
}

PyMemory memory(const PyProgram& self, const std::vector<std::uintptr_t>& addresses) {
  const std::vector<Bytes>& sizes = self.prepared->program.buffers;
  const auto refuse = [](std::string why) {
    raise(Error{ErrorCode::kUsage, std::move(why), {}, -1});
  };
  if (addresses.size() != sizes.size()) {
    refuse("the program needs the addresses of " + std::to_string(sizes.size()) +
           " buffers, not of " + std::to_string(addresses.size()));
  }
  // Empty tensors may have the address 0, but a buffer with bytes must not: that would crash later.
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (addresses[i] == 0 && sizes[i] > 0) {
      refuse("buffer " + std::to_string(i) + " needs " + std::to_string(sizes[i]) +
             " bytes of memory, but its address is 0");
    }
  }
  return {self.prepared, buffers_at(addresses)};
}

Result<Usage> run_together(const std::vector<PyProgram>& programs,
                           const std::vector<std::vector<std::uintptr_t>>& addresses) {
  std::vector<Program> list;
  for (const PyProgram& program : programs) list.push_back(program.prepared->program);
  std::vector<Buffers> buffers;
  for (const auto& of_device : addresses) buffers.push_back(buffers_at(of_device));
  return run_all(list, buffers);
}

void bind_program(nb::module_& module) {
  using Self = const PyProgram&;
  nb::class_<PyProgram>(module, "ReshardProgram")
      .def_prop_ro("buffers", [](Self self) { return self.prepared->program.buffers; })
      .def_prop_ro("fingerprint", [](Self self) { return self.prepared->program.fingerprint; })
      .def_prop_ro("turns", [](Self self) { return self.prepared->turns.size(); })
      .def_prop_ro("longest_packed", [](Self self) { return longest_packed(*self.prepared); })
      .def(
          "sends",
          [](Self self, std::size_t turn) {
            return facts(*self.prepared, self.prepared->turn(turn).sends);
          },
          nb::arg("turn"))
      .def(
          "receives",
          [](Self self, std::size_t turn) {
            return facts(*self.prepared, self.prepared->turn(turn).receives);
          },
          nb::arg("turn"))
      .def("neutral_regions", [](Self self) { return facts(self.prepared->program.neutral); })
      .def(
          "filled_regions",
          [](Self self, std::size_t turn) { return facts(self.prepared->turn(turn).fill_first); },
          nb::arg("turn"))
      .def(
          "move_regions",
          [](Self self, std::size_t turn) { return facts(self.prepared->turn(turn).moves); },
          nb::arg("turn"))
      .def(
          "send_regions",
          [](Self self, std::size_t turn, std::size_t piece) {
            return facts(Prepared::packet(self.prepared->turn(turn).sends, piece));
          },
          nb::arg("turn"), nb::arg("piece"))
      .def(
          "receive_regions",
          [](Self self, std::size_t turn, std::size_t piece) {
            return facts(Prepared::packet(self.prepared->turn(turn).receives, piece));
          },
          nb::arg("turn"), nb::arg("piece"))
      .def("at", &memory, nb::arg("addresses"));
}

void bind_memory(nb::module_& module) {
  nb::class_<PyMemory>(module, "ReshardMemory")
      .def("fill_neutral",
           [](const PyMemory& self) {
             const nb::gil_scoped_release free;
             const Program& program = self.prepared->program;
             fill(program, program.neutral, self.buffers);
           })
      .def(
          "move",
          [](const PyMemory& self, std::size_t number) {
            const PacketTurn& turn = self.prepared->turn(number);
            const nb::gil_scoped_release free;
            prepare(self.prepared->program, turn, self.buffers);
          },
          nb::arg("turn"))
      .def(
          "pack",
          [](const PyMemory& self, std::size_t turn, std::size_t piece, std::uintptr_t out) {
            const Packet& packet = Prepared::packet(self.prepared->turn(turn).sends, piece);
            const nb::gil_scoped_release free;
            pack(self.prepared->program, packet, self.buffers, reinterpret_cast<std::byte*>(out));
          },
          nb::arg("turn"), nb::arg("piece"), nb::arg("out"))
      .def(
          "unpack",
          [](const PyMemory& self, std::size_t turn, std::size_t piece, std::uintptr_t source) {
            const Packet& packet = Prepared::packet(self.prepared->turn(turn).receives, piece);
            const nb::gil_scoped_release free;
            unpack(self.prepared->program, packet, reinterpret_cast<const std::byte*>(source),
                   self.buffers);
          },
          nb::arg("turn"), nb::arg("piece"), nb::arg("source"));
}

}  // namespace

void bind_reshard_program(nb::module_& module) {
  bind_program(module);
  bind_memory(module);
  module.def(
      "reshard_program",
      [](const std::vector<PyPlan>& plans, std::int64_t device, Bytes budget) {
        Result<PyProgram> program;
        {
          const nb::gil_scoped_release free;
          program = program_of(plans, device, budget);
        }
        if (!program) raise(program.error());
        return *program;
      },
      nb::arg("plans"), nb::arg("device"), nb::arg("budget") = 0);

  module.def(
      "reshard_resting",
      [](const std::vector<PyPlan>& plans) {
        const nb::gil_scoped_release free;
        return staged_bytes(arrays_of(plans));
      },
      nb::arg("plans"));

  module.def(
      "reshard_run_all",
      [](const std::vector<PyProgram>& programs,
         const std::vector<std::vector<std::uintptr_t>>& addresses) {
        Result<Usage> usage;
        {
          const nb::gil_scoped_release free;
          usage = run_together(programs, addresses);
        }
        if (!usage) raise(usage.error());
        return usage->staging_peak;
      },
      nb::arg("programs"), nb::arg("addresses"));
}

}  // namespace weft::python
