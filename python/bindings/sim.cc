// SPDX-License-Identifier: Apache-2.0
// Run.memory computes the curves of all chosen ranks in parallel, without the GIL. The Python
// objects are made afterwards, with the GIL.
#include "python/bindings/sim.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run.h"
#include "weft/base/parallel.h"
#include "weft/sim/memory.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using Curves = std::vector<sim::MemoryCurve>;

/// One member of all points of a curve, as a read-only NumPy array. It is a strided view into the
/// points, without a copy, and keeps the curves alive.
nb::object column(const std::shared_ptr<const Curves>& curves, const sim::MemoryCurve& curve,
                  std::int64_t sim::MemoryPoint::*member) {
  // A NumPy stride counts elements, so a point must be a whole number of 64-bit integers.
  static_assert(sizeof(sim::MemoryPoint) % sizeof(std::int64_t) == 0);
  constexpr std::int64_t kStride = sizeof(sim::MemoryPoint) / sizeof(std::int64_t);
  auto owner = std::make_unique<std::shared_ptr<const Curves>>(curves);
  const nb::capsule keep(owner.get(), [](void* pointer) noexcept {
    delete static_cast<std::shared_ptr<const Curves>*>(pointer);
  });
  owner.release();
  return nb::cast(nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>>(
      &(curve.points.front().*member), {curve.points.size()}, keep, {kStride}));
}

void append(nb::list& list, std::int32_t rank, const std::shared_ptr<const Curves>& curves) {
  const nb::module_ types = nb::module_::import_("weft.types");
  for (const sim::MemoryCurve& curve : *curves) {
    const sim::MemoryPeak& at = curve.peak;
    const nb::object peak = types.attr("MemoryPeak")(
        at.bytes, at.time, at.step < 0 ? std::nullopt : std::optional(at.step),
        at.host_op.empty() ? std::nullopt : std::optional(at.host_op));
    list.append(types.attr("MemoryCurve")(rank, curve.device, sim::memory_source_name(curve.source),
                                          column(curves, curve, &sim::MemoryPoint::time),
                                          column(curves, curve, &sim::MemoryPoint::allocated),
                                          peak));
  }
}

nb::list memory(const PyRun& self, std::optional<std::int32_t> rank) {
  std::vector<const trace::RankTrace*> asked;
  for (const trace::RankTrace& each : self.loaded->run.ranks) {
    if (!rank || each.rank == *rank) asked.push_back(&each);
  }
  if (rank && asked.empty()) {
    raise(Error{
        ErrorCode::kUsage, "rank " + std::to_string(*rank) + " is not in this recording", {}, -1});
  }
  std::vector<std::shared_ptr<const Curves>> curves(asked.size());
  run_interruptible([&](const std::atomic<bool>&) {
    parallel_for(asked.size(), [&](std::size_t i) {
      curves[i] = std::make_shared<const Curves>(sim::memory_over_time(*asked[i]));
    });
  });
  nb::list list;
  for (std::size_t i = 0; i < asked.size(); ++i) append(list, asked[i]->rank, curves[i]);
  return list;
}

}  // namespace

void bind_sim(nb::module_& module) {
  nb::cpp_function_def(&memory, nb::scope(module.attr("Run")), nb::name("memory"), nb::is_method(),
                       nb::arg("rank").none() = nb::none(),
                       "Memory use over time, a curve per rank and device; see weft.MemoryCurve.");
}

}  // namespace weft::python
