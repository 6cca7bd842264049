// SPDX-License-Identifier: Apache-2.0
// weft/report makes the page from the run's job, with the same options as the command `weft
// report`. weft.reports wraps the page in an object that notebooks can show.
#include "python/bindings/report.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <string>
#include <vector>

#include "python/bindings/errors.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run.h"
#include "weft/diagnose/diagnosis.h"
#include "weft/report/page/report.h"
#include "weft/report/page/small_page.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

Result<report::Report> make(const Loaded& loaded, const std::vector<std::string>& what_if,
                            const std::vector<std::string>& links) {
  report::ReportOptions options;
  options.inputs = loaded.inputs;
  options.run = loaded.chosen_run;
  options.what_ifs = what_if;
  options.link_files = links;
  options.version = WEFT_VERSION;
  WEFT_ASSIGN(options.links, cost::read_links(links));
  WEFT_ASSIGN(const auto built, job_of(loaded));
  return report::make_report(built->job, options, built->diagnostics);
}

nb::tuple report(const PyRun& run, const std::vector<std::string>& what_if,
                 const std::vector<std::string>& links) {
  Result<report::Report> made;
  run_interruptible([&](const std::atomic<bool>&) { made = make(*run.loaded, what_if, links); });
  if (!made) raise(made.error());
  return nb::make_tuple(made->html, made->verdict);
}

/// A short HTML summary of the run. None if the run cannot be diagnosed; notebooks then show the
/// plain text of repr() instead.
nb::object small_page(const PyRun& run) {
  Result<std::string> page;
  run_interruptible([&](const std::atomic<bool>&) {
    page = [&]() -> Result<std::string> {
      WEFT_ASSIGN(const auto built, job_of(*run.loaded));
      WEFT_ASSIGN(const diagnose::Diagnosis diagnosis, diagnose::diagnose(built->job));
      return report::small_page(diagnosis);
    }();
  });
  if (!page) return nb::none();
  return nb::cast(*page);
}

}  // namespace

void bind_report(nb::module_& module) {
  module.def("report", &report, nb::arg("run"), nb::arg("what_if"), nb::arg("links"));
  const nb::object run = module.attr("Run");
  nb::cpp_function_def(
      [](const nb::object& self, const nb::object& what_if, const nb::object& links) -> nb::object {
        return nb::module_::import_("weft.reports").attr("report")(self, what_if, links);
      },
      nb::scope(run), nb::name("report"), nb::is_method(), nb::arg("what_if").none() = nb::none(),
      nb::arg("links").none() = nb::none(), "The HTML page of `weft report`; see weft.Report.");
  nb::cpp_function_def(&small_page, nb::scope(run), nb::name("_repr_html_"), nb::is_method(),
                       "A short HTML summary of the run, for notebooks.");
}

}  // namespace weft::python
