// SPDX-License-Identifier: Apache-2.0
// Python's view of the reshard room: ends, plans, and the programs that carry plans out. Memory is
// told as addresses: what owns it, NumPy, torch or JAX, stays a matter of Python.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace nanobind {
class module_;
}

namespace weft::python {

/// An array to be moved. Python objects share it; programs outlive plans.
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

/// Python objects share it: memory outlives the program that it was made from.
struct PyProgram {
  std::shared_ptr<const Prepared> prepared;
};
const reshard::execute::Program& program_in(const PyProgram& program);
/// The user's numbers.
const std::vector<std::int64_t>& devices_in(const PyProgram& program);

void bind_reshard(nanobind::module_& module);
/// After bind_reshard, which makes ReshardPlan.
void bind_reshard_program(nanobind::module_& module);
/// Likewise.
void bind_reshard_process(nanobind::module_& module);
/// After bind_reshard_program, which makes ReshardProgram.
void bind_reshard_neighbours(nanobind::module_& module);
/// Likewise.
void bind_reshard_kernels(nanobind::module_& module);

}  // namespace weft::python
