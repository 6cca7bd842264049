// SPDX-License-Identifier: Apache-2.0
// Runs plans between processes that have several devices each, over TCP. The programs of all
// devices of one process are merged into one: what its devices send to each other is copied
// directly, and only pieces for other processes go through the transport.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/reshard.h"
#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/program/merge.h"
#include "weft/reshard/execute/tcp/tcp.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace reshard::execute;

/// The merged program of all devices of one process.
struct PyProcess {
  Program merged;
};

Result<PyProcess> process_of(const PyPlan& plan, const std::vector<std::int32_t>& processes,
                             std::int32_t self, Bytes budget) {
  const PlannedArray& array = *plan.array;
  if (processes.size() != array.problem.devices.size()) {
    return fail(ErrorCode::kUsage, "processes: give one process for each device of the plan");
  }
  std::vector<Program> programs;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i] != self) continue;
    WEFT_ASSIGN(Program program,
                make_program({{&array.problem, &array.plan, array.elements}},
                             static_cast<reshard::Device>(i), ProgramOptions{budget}));
    programs.push_back(std::move(program));
  }
  if (programs.empty()) return fail(ErrorCode::kUsage, "this process has no device of the plan");
  WEFT_ASSIGN(Program merged, merge_programs(programs, processes));
  return PyProcess{std::move(merged)};
}

/// The connections of this process to the other processes.
struct PyPeers {
  Listener listener;
  std::unique_ptr<TcpTransport> transport;  ///< null until connect()
};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

void connect(PyPeers& self, std::int32_t number, const std::vector<std::string>& addresses,
             double timeout) {
  Result<std::vector<Descriptor>> sockets;
  run_interruptible([&](const std::atomic<bool>& cancel) {
    const Waiting waiting{std::chrono::steady_clock::now() + milliseconds(timeout),
                          [&] { return cancel.load(); }};
    sockets = connect_all(self.listener, number, addresses, waiting);
  });
  if (!sockets) raise(sockets.error());
  self.transport = std::make_unique<TcpTransport>(std::move(*sockets));
}

Bytes run(PyPeers& self, const PyProcess& process, const std::vector<std::uintptr_t>& addresses,
          double timeout) {
  if (self.transport == nullptr) {
    raise(Error{ErrorCode::kUsage, "connect to the other processes first", {}, -1});
  }
  Buffers buffers;
  for (const std::uintptr_t address : addresses) {
    buffers.push_back(reinterpret_cast<std::byte*>(address));
  }
  Result<Usage> result;
  run_interruptible([&](const std::atomic<bool>& cancel) {
    self.transport->set_patience({milliseconds(timeout), [&] { return cancel.load(); }});
    result = execute(process.merged, buffers, *self.transport);
  });
  if (!result) raise(result.error());
  return result->staging_peak;
}

}  // namespace

void bind_reshard_process(nb::module_& module) {
  nb::class_<PyProcess>(module, "ReshardProcess")
      .def(
          "__init__",
          [](PyProcess* self, const PyPlan& plan, const std::vector<std::int32_t>& processes,
             std::int32_t process, Bytes budget) {
            Result<PyProcess> made;
            {
              const nb::gil_scoped_release free;
              made = process_of(plan, processes, process, budget);
            }
            if (!made) raise(made.error());
            new (self) PyProcess(std::move(*made));
          },
          nb::arg("plan"), nb::arg("processes"), nb::arg("process"), nb::arg("budget") = 0)
      .def_prop_ro("buffers", [](const PyProcess& self) {
        // The last buffer is left out: it is staging memory, which execute() allocates.
        return std::vector<Bytes>(self.merged.buffers.begin(), self.merged.buffers.end() - 1);
      });

  nb::class_<PyPeers>(module, "ReshardPeers")
      .def(
          "__init__",
          [](PyPeers* self, const std::string& host) {
            auto listener = Listener::open(host);
            if (!listener) raise(listener.error());
            new (self) PyPeers{std::move(*listener), nullptr};
          },
          nb::arg("host"))
      .def_prop_ro("address", [](const PyPeers& self) { return self.listener.address(); })
      .def("connect", &connect, nb::arg("number"), nb::arg("addresses"), nb::arg("timeout"))
      .def("run", &run, nb::arg("process"), nb::arg("addresses"), nb::arg("timeout"));
}

}  // namespace weft::python
