// SPDX-License-Identifier: Apache-2.0
// Python bindings of weft/reshard: the two ends of a redistribution, plans, and the programs that
// carry plans out. Python passes memory as addresses; the arrays of NumPy, torch or JAX that own
// the memory stay on the Python side, which keeps them alive.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace nanobind {
class module_;
}

namespace weft::python {

/// An array to redistribute and the plan for it. Python objects share it, because a program may
/// outlive the plan object that it was made from.
struct PlannedArray {
  reshard::Problem problem;
  reshard::Plan plan;
  reshard::execute::Elements elements;
  reshard::Link link;
};

struct PyPlan {
  std::shared_ptr<const PlannedArray> array;
};

struct Prepared;

/// The program of one device. Python objects share it, because a ReshardMemory may outlive the
/// program object that it was made from.
struct PyProgram {
  std::shared_ptr<const Prepared> prepared;
};
const reshard::execute::Program& program_in(const PyProgram& program);
/// The user's number of each device; the program itself numbers devices 0, 1, 2 ...
const std::vector<std::int64_t>& devices_in(const PyProgram& program);

void bind_reshard(nanobind::module_& module);
/// Call these two after bind_reshard, which makes ReshardPlan.
void bind_reshard_program(nanobind::module_& module);
void bind_reshard_process(nanobind::module_& module);
/// Call these two after bind_reshard_program, which makes ReshardProgram.
void bind_reshard_neighbours(nanobind::module_& module);
void bind_reshard_kernels(nanobind::module_& module);

}  // namespace weft::python
