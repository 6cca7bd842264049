// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/predict.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <string>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run.h"
#include "weft/predict/summary.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

Result<std::string> answer(const Loaded& loaded, const std::vector<std::string>& what_if,
                           const std::vector<std::string>& links,
                           const std::vector<std::int64_t>& steps) {
  predict::PredictOptions options;
  options.steps = steps;
  WEFT_ASSIGN(options.links, cost::read_links(links));
  WEFT_ASSIGN(const auto built, job_of(loaded));
  WEFT_ASSIGN(options.what_ifs, predict::parse_what_ifs(built->job, what_if, options.links));
  WEFT_ASSIGN(const predict::ReplaySummary summary, predict::summarise(built->job, options));
  Diagnostics diagnostics = built->diagnostics;
  predict::warn_untypical(summary, diagnostics);
  return predict::summary_json(summary, diagnostics);
}

std::string replay(const PyRun& run, const std::vector<std::string>& what_if,
                   const std::vector<std::string>& links, const std::vector<std::int64_t>& steps) {
  Result<std::string> json;
  run_interruptible(
      [&](const std::atomic<bool>&) { json = answer(*run.loaded, what_if, links, steps); });
  if (!json) raise(json.error());
  return std::move(*json);
}

}  // namespace

void bind_predict(nb::module_& module) {
  module.def("replay", &replay, nb::arg("run"), nb::arg("what_if"), nb::arg("links"),
             nb::arg("steps"));
  // The user may pass one text or several. weft.replays turns the arguments into lists, calls the
  // function above, and turns the JSON that this function returns into objects.
  nb::cpp_function_def(
      [](const nb::object& self, const nb::object& what_if, const nb::object& links,
         const nb::object& steps) -> nb::object {
        return nb::module_::import_("weft.replays").attr("replay")(self, what_if, links, steps);
      },
      nb::scope(module.attr("Run")), nb::name("replay"), nb::is_method(),
      nb::arg("what_if").none() = nb::none(), nb::arg("links").none() = nb::none(),
      nb::arg("steps").none() = nb::none(),
      "Recorded, replayed and predicted step times; see weft.Replay.");
}

}  // namespace weft::python
