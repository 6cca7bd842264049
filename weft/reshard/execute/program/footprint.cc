// SPDX-License-Identifier: Apache-2.0
// Makes the programs of a plan and measures their memory, because only programs say what is staged.
// On many devices this would take too long. Then it makes only two programs: for the device with
// the largest source and for the device with the largest target.
#include "weft/reshard/execute/program/footprint.h"

#include <algorithm>

#include "weft/reshard/execute/host/ends.h"
#include "weft/reshard/execute/program/in_place.h"
#include "weft/reshard/execute/program/shuffle.h"

namespace weft::reshard::execute {
namespace {

/// Bytes of source and target, indexed by device.
struct BothEnds {
  std::vector<Bytes> in, out;
};

std::vector<Bytes> bytes_held(const Layout& layout, Bytes item) {
  std::vector<Bytes> held(layout.devices(), 0);
  for (Part part = 0; part < layout.parts(); ++part) {
    if (layout.holds(part)) held[layout.device_of(part)] += layout.elements(part) * item;
  }
  return held;
}

std::vector<Device> devices_to_look_at(const BothEnds& ends) {
  std::vector<Device> devices;
  const auto count = static_cast<Device>(ends.in.size());
  if (count <= kAllDevices) {
    for (Device device = 0; device < count; ++device) devices.push_back(device);
    return devices;
  }
  for (const std::vector<Bytes>* end : {&ends.in, &ends.out}) {
    devices.push_back(
        static_cast<Device>(std::max_element(end->begin(), end->end()) - end->begin()));
  }
  return devices;
}

/// Raises the footprint to what one program needs.
void add(const Program& program, const BothEnds& ends, Footprint& footprint) {
  Bytes longest = 0, marks = 0;
  for (const Turn& turn : program.turns) {
    for (const auto* list : {&turn.sends, &turn.receives}) {
      for (const Message& message : *list) longest = std::max(longest, message.bytes);
    }
    if (!turn.shuffles.empty()) marks = std::max(marks, mark_bytes(turn.shuffles));
  }
  // A budget limits the memory for messages. If messages are short, four of them need less than
  // this limit.
  const Bytes messages = marks + std::min(program.message_budget, 4 * longest);
  const Bytes buffers =
      footprint.in_place ? program.buffers[0] : ends.in[program.self] + ends.out[program.self];
  const Bytes staged = program.buffers.back() + cast_bytes(program);
  footprint.staging = std::max(footprint.staging, staged);
  footprint.messages = std::max(footprint.messages, messages);
  footprint.message = std::max(footprint.message, longest);
  footprint.window = 2 * program.message_limit;
  footprint.live = std::max(footprint.live, buffers + staged + messages);
}

}  // namespace

Result<Footprint> footprint(const Problem& problem, const Plan& plan,
                            const ProgramOptions& options) {
  const BothEnds ends{bytes_held(problem.source, source_item(problem)),
                      bytes_held(problem.target, target_item(problem))};
  Footprint found;
  found.in_place = options.in_place;
  found.in = *std::max_element(ends.in.begin(), ends.in.end());
  found.out = *std::max_element(ends.out.begin(), ends.out.end());
  Elements elements;
  if (!problem.dtype.empty()) elements.type = problem.dtype;
  const std::vector<Array> arrays{{&problem, &plan, elements}};
  const std::vector<Device> devices = devices_to_look_at(ends);
  if (options.in_place) {
    const auto programs = make_programs_in_place(arrays, devices, options);
    // The plan cannot run in place. Measure it with two buffers, and keep the reason.
    if (!programs) {
      ProgramOptions apart = options;
      apart.in_place = false;
      WEFT_ASSIGN(Footprint both, footprint(problem, plan, apart));
      both.reason = programs.error().message;
      return both;
    }
    for (const Program& program : *programs) add(program, ends, found);
    return found;
  }
  for (const Device device : devices) {
    WEFT_ASSIGN(const Program program, make_program(arrays, device, options));
    add(program, ends, found);
  }
  return found;
}

Result<Plan> make_plan_for(const Problem& problem, const PlannerOptions& options,
                           const ProgramOptions& run) {
  if (run.in_place) {
    if (auto plan = make_plan_in_place(problem, options, run.budget)) return plan;
  }
  return make_plan_within(problem, options, run.budget);
}

}  // namespace weft::reshard::execute
