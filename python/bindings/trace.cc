// SPDX-License-Identifier: Apache-2.0
// Run, Rank and Events are small objects that share one Loaded, which owns all events. Columns of
// events are NumPy views into it. Every view holds a reference to the Loaded, so it stays valid
// even if the Run is freed.
#include "python/bindings/trace.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run.h"
#include "weft/base/diagnostics.h"
#include "weft/trace/formats/packed/files.h"
#include "weft/trace/runs/load.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

struct PyRank {
  std::shared_ptr<const Loaded> loaded;
  const trace::RankTrace* rank;
};

struct PyEvents {
  std::shared_ptr<const Loaded> loaded;
  const trace::RankTrace* rank;
};

/// A read-only NumPy view of the recording's memory, which keeps the run alive.
template <class T>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> view(const std::shared_ptr<const Loaded>& loaded,
                                                  const T* data, std::size_t size) {
  auto owner = std::make_unique<std::shared_ptr<const Loaded>>(loaded);
  const nb::capsule keep(owner.get(), [](void* pointer) noexcept {
    delete static_cast<std::shared_ptr<const Loaded>*>(pointer);
  });
  owner.release();
  return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {size}, keep);
}

template <class T>
auto column(std::vector<T> trace::Events::*member) {
  return [member](const PyEvents& self) {
    const std::vector<T>& values = self.rank->events.*member;
    return view(self.loaded, values.data(), values.size());
  };
}

/// The kinds of all events as a column of numbers. An enumerator has one byte, so no copy is
/// needed.
auto kinds_of(const PyEvents& self) {
  static_assert(sizeof(trace::EventKind) == 1);
  const auto& kinds = self.rank->events.kind;
  return view(self.loaded, reinterpret_cast<const std::uint8_t*>(kinds.data()), kinds.size());
}

PyRun load(const std::vector<std::string>& paths, const std::string& run, bool strict) {
  auto loaded = std::make_shared<Loaded>();
  loaded->inputs = paths;
  loaded->chosen_run = run;
  Result<trace::Recording> recording;
  run_interruptible([&](const std::atomic<bool>& cancel) {
    trace::LoadOptions options;
    options.run = run;
    options.progress = [&](std::int64_t, std::int64_t) { return !cancel.load(); };
    recording = trace::load(paths, options, loaded->diagnostics);
  });
  if (!recording) raise(recording.error());
  if (strict) {
    if (const Status status = loaded->diagnostics.strict(); !status) raise(status.error());
  }
  if (recording->runs.size() > 1) {
    std::string labels;
    for (const trace::Run& each : recording->runs) labels += " '" + each.label + "'";
    raise(Error{ErrorCode::kUsage,
                "the input holds " + std::to_string(recording->runs.size()) +
                    " runs; choose one by number (run=1) or by label:" + labels,
                {},
                -1});
  }
  loaded->run = std::move(recording->runs.front());
  return PyRun{std::move(loaded)};
}

/// Returns the paths of the files that it wrote.
std::vector<std::string> pack(const std::vector<std::string>& paths, const std::string& out,
                              const std::string& run, std::int64_t share, std::int64_t shares) {
  Result<std::vector<trace::PackedFile>> files;
  Diagnostics diagnostics;
  run_interruptible([&](const std::atomic<bool>& cancel) {
    trace::PackOptions options;
    options.run = run;
    options.share = {share, shares};
    options.progress = [&](std::int64_t, std::int64_t) { return !cancel.load(); };
    files = trace::pack_files(paths, out, options, diagnostics);
  });
  if (!files) raise(files.error());
  std::vector<std::string> written;
  for (const trace::PackedFile& file : *files) written.push_back(file.path);
  return written;
}

nb::list diagnostics_of(const PyRun& self) {
  const nb::object type = nb::module_::import_("weft.types").attr("Diagnostic");
  nb::list list;
  for (const Diagnostic& item : self.loaded->diagnostics.all()) {
    list.append(type(item.kind->id, severity_name(item.kind->severity), item.count, item.kind->what,
                     item.kind->advice, item.places));
  }
  return list;
}

nb::list steps_of(const PyRank& self) {
  const nb::object type = nb::module_::import_("weft.types").attr("Step");
  nb::list list;
  for (const trace::StepMark& step : self.rank->steps) {
    list.append(type(step.number, step.start, step.end));
  }
  return list;
}

std::vector<std::string> names_of(const PyEvents& self) {
  std::vector<std::string> list;
  list.reserve(self.rank->names.size());
  for (NameId id = 0; id < self.rank->names.size(); ++id) {
    list.emplace_back(self.rank->names.text(id));
  }
  return list;
}

nb::list lanes_of(const PyRank& self) {
  const nb::object type = nb::module_::import_("weft.types").attr("Lane");
  nb::list list;
  for (const trace::Lane& lane : self.rank->lanes) {
    list.append(type(lane.on_device, lane.pid, lane.tid, lane.device, lane.name));
  }
  return list;
}

void bind_events(nb::module_& module) {
  using trace::Events;
  // A column's capsule keeps the run alive. The default policy for properties would also keep
  // `self` alive, which is not needed.
  constexpr auto kOwned = nb::rv_policy::automatic;
  nb::class_<PyEvents>(module, "Events", "The events of one rank, as columns of equal length.")
      .def("__len__", [](const PyEvents& self) { return self.rank->events.size(); })
      .def_prop_ro("start", column(&Events::start), kOwned, "Nanoseconds since Rank.epoch.")
      .def_prop_ro("duration", column(&Events::duration), kOwned, "Nanoseconds.")
      .def_prop_ro("name", column(&Events::name), kOwned, "Index into names.")
      .def_prop_ro("lane", column(&Events::lane), kOwned, "Index into Rank.lanes.")
      .def_prop_ro("correlation", column(&Events::correlation), kOwned,
                   "The same number on a host call and the device work that it launched; 0: none.")
      .def_prop_ro("external_id", column(&Events::external_id), kOwned,
                   "The host op that issued the work; -1: none.")
      .def_prop_ro("kind", kinds_of, kOwned, "Kind of the event, see weft.EventKind.")
      .def_prop_ro("names", names_of, "The texts that `name` indexes.");
}

void bind_rank(nb::module_& module) {
  nb::class_<PyRank>(module, "Rank", "The recording of one rank.")
      .def_prop_ro("rank", [](const PyRank& self) { return self.rank->rank; })
      .def_prop_ro("world", [](const PyRank& self) { return self.rank->world; })
      .def_prop_ro("file", [](const PyRank& self) { return self.rank->file; })
      .def_prop_ro("format", [](const PyRank& self) { return self.rank->format; })
      .def_prop_ro(
          "origin", [](const PyRank& self) { return self.rank->origin; },
          "The recording that `file` was packed from; empty if `file` is not a packed recording.")
      .def_prop_ro("host", [](const PyRank& self) { return self.rank->host; })
      .def_prop_ro("devices", [](const PyRank& self) { return self.rank->devices; })
      .def_prop_ro(
          "epoch", [](const PyRank& self) { return self.rank->epoch; },
          "Time 0 of this rank as Unix time in nanoseconds.")
      .def_prop_ro("steps", steps_of, "The steps that the host marked, in order of time.")
      .def_prop_ro("lanes", lanes_of, "Host threads and device streams.")
      .def_prop_ro("events", [](const PyRank& self) {
        return PyEvents{self.loaded, self.rank};
      });
}

void bind_run(nb::module_& module) {
  nb::class_<PyRun>(module, "Run", "One execution of a job, with the recordings of its ranks.")
      .def_prop_ro("label", [](const PyRun& self) { return self.loaded->run.label; })
      .def_prop_ro(
          "world", [](const PyRun& self) { return self.loaded->run.world; },
          "Number of ranks of the job, whether their recordings were found or not.")
      .def_prop_ro(
          "ranks",
          [](const PyRun& self) {
            std::vector<PyRank> list;
            for (const auto& rank : self.loaded->run.ranks) list.push_back({self.loaded, &rank});
            return list;
          },
          "The ranks whose recordings were found, in order.")
      .def_prop_ro(
          "steps",
          [](const PyRun& self) {
            std::vector<std::int64_t> numbers;
            for (const auto& rank : self.loaded->run.ranks) {
              for (const auto& step : rank.steps) numbers.push_back(step.number);
            }
            std::sort(numbers.begin(), numbers.end());
            numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
            return numbers;
          },
          "Numbers of the steps that any rank marked.")
      .def_prop_ro(
          "events",
          [](const PyRun& self) {
            nb::dict by_rank;
            for (const auto& rank : self.loaded->run.ranks) {
              by_rank[nb::cast(rank.rank)] = nb::cast(PyEvents{self.loaded, &rank});
            }
            return by_rank;
          },
          "Events by rank.")
      .def_prop_ro("diagnostics", diagnostics_of, "Problems of the input, with counts.")
      .def("__repr__", [](const PyRun& self) {
        return "<weft.Run '" + self.loaded->run.label +
               "': " + std::to_string(self.loaded->run.ranks.size()) + " of " +
               std::to_string(self.loaded->run.world) + " ranks>";
      });
}

}  // namespace

void bind_trace(nb::module_& module) {
  bind_events(module);
  bind_rank(module);
  bind_run(module);
  module.def("pack", &pack, nb::arg("paths"), nb::arg("out"), nb::arg("run"), nb::arg("share"),
             nb::arg("shares"));
  module.def("load", &load, nb::arg("paths"), nb::arg("run"), nb::arg("strict"));
}

}  // namespace weft::python
