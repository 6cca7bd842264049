// SPDX-License-Identifier: Apache-2.0
// Runs programs between the processes of one host, through shared memory. The Python side passes
// the name of the shared memory from process to process and finds out whether all of them have
// joined.
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

/// Targets of at least this size are faulted in by one call instead of page by page.
constexpr Bytes kWorthFaultingIn = 1 << 20;

struct PyNeighbours {
  SharedSegment segment;
  std::string name;
  std::unique_ptr<SharedTransport> transport;  ///< null until connect()
};

PyNeighbours made(Result<SharedSegment> segment) {
  if (!segment) raise(segment.error());
  std::string name = segment->name();
  return {std::move(*segment), std::move(name), nullptr};
}

void connect(PyNeighbours& self, reshard::Device number) {
  if (number < 0 || number >= self.segment.devices() || self.transport != nullptr) {
    raise(Error{
        ErrorCode::kUsage, "a process must connect only once, and with its own number", {}, -1});
  }
  self.segment.make_private();
  self.transport = connect_shared(std::move(self.segment), number, {});
}

Bytes run(PyNeighbours& self, const PyProgram& program,
          const std::vector<std::uintptr_t>& addresses, double timeout) {
  if (self.transport == nullptr) {
    raise(Error{ErrorCode::kUsage, "call connect() when all processes have joined", {}, -1});
  }
  Buffers buffers;
  for (const std::uintptr_t address : addresses) {
    buffers.push_back(reinterpret_cast<std::byte*>(address));
  }
  // The transport calls the function below on this thread. If this is Python's main thread,
  // PyErr_CheckSignals() runs the signal handlers. On other threads it does nothing.
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
    // Targets (the buffers with odd numbers) are new tensors, whose pages the kernel has not
    // provided yet.
    const std::vector<Bytes>& sizes = program_in(program).buffers;
    for (std::size_t i = 1; i < buffers.size() && i < sizes.size(); i += 2) {
      if (sizes[i] >= kWorthFaultingIn) fault_in(buffers[i], sizes[i]);
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
          "create", [](reshard::Device devices) { return made(make_shared_segment(devices)); },
          nb::arg("devices"))
      .def_static(
          "join",
          [](const std::string& name, reshard::Device devices) {
            return made(SharedSegment::join(name, devices));
          },
          nb::arg("name"), nb::arg("devices"))
      .def_prop_ro("name", [](const PyNeighbours& self) { return self.name; })
      .def("connect", &connect, nb::arg("number"))
      .def("run", &run, nb::arg("program"), nb::arg("addresses"), nb::arg("timeout"));
}

}  // namespace weft::python
