// SPDX-License-Identifier: Apache-2.0
// The functions of weft._core return the JSON of the commands. weft.diagnoses and weft.comparisons
// turn it into objects; Run.diagnose and Run.diff call these modules. So the command and the
// package cannot differ in their results.
#include "python/bindings/diagnose.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <string>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run.h"
#include "weft/diagnose/compare.h"
#include "weft/diagnose/diagnosis.h"
#include "weft/plan/plan.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

/// Runs `work` without the GIL. Returns its JSON, or raises its error as a Python exception.
template <class Work>
std::string json_of(const Work& work) {
  Result<std::string> json;
  run_interruptible([&](const std::atomic<bool>&) { json = work(); });
  if (!json) raise(json.error());
  return std::move(*json);
}

std::string diagnose(const PyRun& run) {
  return json_of([&]() -> Result<std::string> {
    const Loaded& loaded = *run.loaded;
    WEFT_ASSIGN(const auto built, job_of(loaded));
    WEFT_ASSIGN(const diagnose::Diagnosis diagnosis, diagnose::diagnose(built->job));
    // The arguments of `weft diagnose` for this run: findings name a command that shows them.
    std::vector<std::string> words = loaded.inputs;
    if (!loaded.chosen_run.empty()) words.insert(words.end(), {"--run", loaded.chosen_run});
    return diagnose::diagnosis_json(built->job, diagnosis, words, built->diagnostics);
  });
}

Result<diagnose::CompareOptions> options_of(const std::vector<std::string>& what_if,
                                            const std::vector<std::string>& links) {
  diagnose::CompareOptions options;
  options.what_ifs = what_if;
  WEFT_ASSIGN(options.links, cost::read_links(links));
  return options;
}

std::string diff(const PyRun& before, const PyRun& after, const std::vector<std::string>& what_if,
                 const std::vector<std::string>& links) {
  return json_of([&]() -> Result<std::string> {
    WEFT_ASSIGN(const diagnose::CompareOptions options, options_of(what_if, links));
    WEFT_ASSIGN(const auto was, job_of(*before.loaded));
    WEFT_ASSIGN(const auto is, job_of(*after.loaded));
    WEFT_ASSIGN(const diagnose::Comparison comparison,
                diagnose::compare(was->job, is->job, options));
    Diagnostics diagnostics = was->diagnostics;
    diagnostics.merge(is->diagnostics);
    return diagnose::comparison_json(comparison, std::nullopt, diagnostics);
  });
}

std::string diff_plan(const std::string& path, const PyRun& after,
                      const std::vector<std::string>& what_if,
                      const std::vector<std::string>& links) {
  return json_of([&]() -> Result<std::string> {
    WEFT_ASSIGN(const diagnose::CompareOptions options, options_of(what_if, links));
    WEFT_ASSIGN(const plan::Plan plan, plan::read_plan(path));
    WEFT_ASSIGN(const auto is, job_of(*after.loaded));
    WEFT_ASSIGN(const diagnose::Comparison comparison,
                diagnose::compare(plan, "the plan " + path, is->job, options));
    return diagnose::comparison_json(comparison, std::nullopt, is->diagnostics);
  });
}

}  // namespace

void bind_diagnose(nb::module_& module) {
  module.def("diagnose", &diagnose, nb::arg("run"));
  module.def("diff", &diff, nb::arg("before"), nb::arg("after"), nb::arg("what_if"),
             nb::arg("links"));
  module.def("is_plan", &plan::is_plan, nb::arg("path"));
  module.def("diff_plan", &diff_plan, nb::arg("path"), nb::arg("after"), nb::arg("what_if"),
             nb::arg("links"));
  const nb::object run = module.attr("Run");
  nb::cpp_function_def(
      [](const nb::object& self) -> nb::object {
        return nb::module_::import_("weft.diagnoses").attr("diagnose")(self);
      },
      nb::scope(run), nb::name("diagnose"), nb::is_method(),
      "How every rank spends its step and what each fix would gain; see weft.Diagnosis.");
  nb::cpp_function_def(
      [](const nb::object& self, const nb::object& other, const nb::object& what_if,
         const nb::object& links) -> nb::object {
        return nb::module_::import_("weft.comparisons").attr("diff")(self, other, what_if, links);
      },
      nb::scope(run), nb::name("diff"), nb::is_method(), nb::arg("other"),
      nb::arg("what_if").none() = nb::none(), nb::arg("links").none() = nb::none(),
      "Compares this run with a later one; see weft.Comparison.");
}

}  // namespace weft::python
