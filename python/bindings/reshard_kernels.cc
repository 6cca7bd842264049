// SPDX-License-Identifier: Apache-2.0
// Runs programs whose memory is on a GPU. A program becomes batches of messages; libweft-cuda.so
// does the copies before and after the messages of a batch, each in one launch. Python sends the
// messages themselves, with the back-end of torch.distributed.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/reshard.h"
#include "weft/reshard/execute/cuda/gpu.h"
#include "weft/reshard/execute/nccl/collective.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace reshard::execute;
using nccl::Collective;

struct PyKernels {
  cuda::Gpu gpu;
};

/// A list of copies, prepared on the GPU. `plan` is null if the list is empty. Python objects share
/// the plan.
struct PyCopies {
  std::shared_ptr<WeftCudaPlan> plan;
  std::size_t buffers = 0;
  cuda::Gpu gpu;

  static Result<PyCopies> make(const cuda::Gpu& gpu, const std::vector<cuda::Copy>& copies,
                               std::size_t buffers) {
    PyCopies made{nullptr, buffers, gpu};
    if (copies.empty()) return made;
    const std::vector<std::int64_t> numbers = cuda::encode(copies);
    WeftCudaPlan* plan = nullptr;
    char error[cuda::kErrorBytes] = "";
    if (gpu.plan_make(numbers.data(), static_cast<std::int64_t>(numbers.size()),
                      static_cast<std::int32_t>(buffers), &plan, error) != 0) {
      return fail(ErrorCode::kUnavailable, error);
    }
    made.plan = {plan, gpu.plan_free};
    return made;
  }

  Status run(const std::vector<std::uintptr_t>& addresses, std::uintptr_t stream) const {
    if (addresses.size() != buffers) {
      return fail(ErrorCode::kUsage, "these copies need the addresses of " +
                                         std::to_string(buffers) + " buffers, not of " +
                                         std::to_string(addresses.size()));
    }
    if (plan == nullptr) return {};
    std::vector<void*> places;
    for (const std::uintptr_t address : addresses) {
      places.push_back(reinterpret_cast<void*>(address));
    }
    char error[cuda::kErrorBytes] = "";
    if (gpu.plan_run(plan.get(), places.data(), reinterpret_cast<void*>(stream), error) != 0) {
      return fail(ErrorCode::kUnavailable, error);
    }
    return {};
  }
};

/// A message as Python gets it: rank of the peer, buffer, offset, bytes. If the program has n
/// buffers, buffer n is the staging memory.
using WiredFacts = std::tuple<std::int64_t, std::int32_t, Bytes, Bytes>;
/// A collective as Python gets it: "gather" or "reduce", NCCL's number of the element type, source
/// and target of the data.
using CollectiveFacts = std::tuple<std::string, int, WiredFacts, WiredFacts>;

struct PyBatch {
  PyCopies before, after;
  std::vector<WiredFacts> sends, receives;
  Bytes staging = 0;
  std::optional<CollectiveFacts> collective;
};

WiredFacts facts(const PyProgram& program, const cuda::MessageSpan& wired) {
  return {devices_in(program)[wired.peer], wired.buffer, wired.offset, wired.bytes};
}
std::vector<WiredFacts> facts(const PyProgram& program,
                              const std::vector<cuda::MessageSpan>& list) {
  std::vector<WiredFacts> all;
  for (const cuda::MessageSpan& wired : list) all.push_back(facts(program, wired));
  return all;
}

Result<PyBatch> batch_of(const PyKernels& kernels, const PyProgram& program,
                         const cuda::Batch& batch) {
  const std::size_t buffers =
      program_in(program).buffers.size() + 1;  // and the batch's staging memory
  PyBatch made;
  WEFT_ASSIGN(made.before, PyCopies::make(kernels.gpu, batch.before, buffers));
  WEFT_ASSIGN(made.after, PyCopies::make(kernels.gpu, batch.after, buffers));
  made.sends = facts(program, batch.sends);
  made.receives = facts(program, batch.receives);
  made.staging = batch.staging;
  return made;
}

Result<std::vector<PyBatch>> batches(const PyKernels& kernels, const PyProgram& program,
                                     std::size_t number, bool collectives) {
  const Program& self = program_in(program);
  if (number >= self.turns.size()) {
    return fail(ErrorCode::kUsage, "there is no turn " + std::to_string(number) +
                                       ": the program has " + std::to_string(self.turns.size()));
  }
  const Turn& turn = self.turns[number];
  const auto ranks = static_cast<int>(devices_in(program).size());
  // Fail before anything is sent if the GPU library lacks a reduction.
  WEFT_TRY(cuda::check_reductions(self));
  std::vector<PyBatch> all;
  if (collectives) {
    const Collective found = nccl::find_collective(self, turn, ranks);
    if (found.kind != Collective::Kind::kNone) {
      WEFT_ASSIGN(PyBatch batch,
                  batch_of(kernels, program, {found.before, found.after, {}, {}, found.staging}));
      const bool gathers = found.kind == Collective::Kind::kAllGather;
      batch.collective = CollectiveFacts{gathers ? "gather" : "reduce", found.type,
                                         facts(program, found.from), facts(program, found.to)};
      all.push_back(std::move(batch));
      return all;
    }
  }
  for (const cuda::Batch& batch : cuda::batches_of(self, turn, ranks)) {
    WEFT_ASSIGN(PyBatch made, batch_of(kernels, program, batch));
    all.push_back(std::move(made));
  }
  return all;
}

Result<PyCopies> neutral(const PyKernels& kernels, const PyProgram& program) {
  const Program& self = program_in(program);
  WEFT_ASSIGN(const std::vector<cuda::Copy> copies, cuda::neutral_copies(self));
  return PyCopies::make(kernels.gpu, copies, self.buffers.size());
}

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

}  // namespace

void bind_reshard_kernels(nb::module_& module) {
  nb::class_<PyCopies>(module, "ReshardCopies")
      .def("__bool__", [](const PyCopies& self) { return self.plan != nullptr; })
      .def(
          "run",
          [](const PyCopies& self, const std::vector<std::uintptr_t>& addresses,
             std::uintptr_t stream) {
            const Status done = self.run(addresses, stream);
            if (!done) raise(done.error());
          },
          nb::arg("addresses"), nb::arg("stream"));

  nb::class_<PyBatch>(module, "ReshardBatch")
      .def_prop_ro("before", [](const PyBatch& self) { return self.before; })
      .def_prop_ro("after", [](const PyBatch& self) { return self.after; })
      .def_prop_ro("sends", [](const PyBatch& self) { return self.sends; })
      .def_prop_ro("receives", [](const PyBatch& self) { return self.receives; })
      .def_prop_ro("staging", [](const PyBatch& self) { return self.staging; })
      .def_prop_ro("collective", [](const PyBatch& self) { return self.collective; });

  nb::class_<PyKernels>(module, "ReshardKernels")
      .def(
          "batches",
          [](const PyKernels& self, const PyProgram& program, std::size_t turn, bool collectives) {
            return value_or_raise(batches(self, program, turn, collectives));
          },
          nb::arg("program"), nb::arg("turn"), nb::arg("collectives"))
      .def(
          "neutral",
          [](const PyKernels& self, const PyProgram& program) {
            return value_or_raise(neutral(self, program));
          },
          nb::arg("program"));

  module.def(
      "reshard_kernels",
      [](const std::string& path) { return PyKernels{value_or_raise(cuda::load_gpu(path))}; },
      nb::arg("path"));
  module.def(
      "reshard_collectives",
      [](const PyProgram& program) {
        return nccl::summary(program_in(program), static_cast<int>(devices_in(program).size()));
      },
      nb::arg("program"));
}

}  // namespace weft::python
