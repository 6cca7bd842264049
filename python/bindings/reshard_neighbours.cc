// SPDX-License-Identifier: Apache-2.0
// Programs run between processes of one host, through memory that they share. Who tells whom where
// that is, and whether all are there, is a matter of Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/reshard.h"
#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/shared/shared.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace reshard::execute;

/// Bytes of memory for which the kernel is asked at once.
constexpr Bytes kWorthAsking = 1 << 20;

struct PyNeighbours {
  Neighbours neighbours;
  std::string name;
  std::unique_ptr<SharedTransport> transport;  ///< once all have joined
};

PyNeighbours made(Result<Neighbours> neighbours) {
  if (!neighbours) raise(neighbours.error());
  std::string name = neighbours->name();
  return {std::move(*neighbours), std::move(name), nullptr};
}

void connect(PyNeighbours& self, reshard::Device number) {
  if (number < 0 || number >= self.neighbours.devices() || self.transport != nullptr) {
    raise(Error{ErrorCode::kUsage, "a process connects once, with its own number", {}, -1});
  }
  self.neighbours.close_door();
  self.transport = connect_shared(std::move(self.neighbours), number, {});
}

Bytes run(PyNeighbours& self, const PyProgram& program,
          const std::vector<std::uintptr_t>& addresses, double timeout) {
  if (self.transport == nullptr) {
    raise(Error{ErrorCode::kUsage, "connect when all processes have joined", {}, -1});
  }
  Buffers buffers;
  for (const std::uintptr_t address : addresses) {
    buffers.push_back(reinterpret_cast<std::byte*>(address));
  }
  // Asked by the thread that runs this: on the main one, it sees signals.
  bool interrupted = false;
  self.transport->set_patience(std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000)),
                               [&] {
                                 const nb::gil_scoped_acquire held;
                                 interrupted = PyErr_CheckSignals() != 0;
                                 return interrupted;
                               });
  Result<Usage> usage;
  {
    const nb::gil_scoped_release free;
    // Targets are fresh tensors.
    const std::vector<Bytes>& sizes = program_in(program).buffers;
    for (std::size_t i = 1; i < buffers.size() && i < sizes.size(); i += 2) {
      if (sizes[i] >= kWorthAsking) fault_in(buffers[i], sizes[i]);
    }
    usage = execute(program_in(program), buffers, *self.transport);
  }
  self.transport->set_patience(std::chrono::milliseconds(0), {});
  if (interrupted) throw nb::python_error();
  if (!usage) raise(usage.error());
  return usage->staging_peak;
}

}  // namespace

void bind_reshard_neighbours(nb::module_& module) {
  nb::class_<PyNeighbours>(module, "ReshardNeighbours")
      .def_static(
          "create", [](reshard::Device devices) { return made(make_neighbours(devices)); },
          nb::arg("devices"))
      .def_static(
          "join",
          [](const std::string& name, reshard::Device devices) {
            return made(Neighbours::join(name, devices));
          },
          nb::arg("name"), nb::arg("devices"))
      .def_prop_ro("name", [](const PyNeighbours& self) { return self.name; })
      .def("connect", &connect, nb::arg("number"))
      .def("run", &run, nb::arg("program"), nb::arg("addresses"), nb::arg("timeout"));
}

}  // namespace weft::python
