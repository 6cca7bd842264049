// SPDX-License-Identifier: Apache-2.0
// The module weft._core. The bindings are thin: one file for each folder of weft/. Conversions and
// other conveniences for the user are written in Python.
#include <nanobind/nanobind.h>

#include "python/bindings/diagnose.h"
#include "python/bindings/errors.h"
#include "python/bindings/predict.h"
#include "python/bindings/report.h"
#include "python/bindings/reshard.h"
#include "python/bindings/sim.h"
#include "python/bindings/tables.h"
#include "python/bindings/trace.h"

NB_MODULE(_core, module) {
  module.attr("__version__") = WEFT_VERSION;
  // bind_trace comes first, because it makes Run, and other functions add methods to Run.
  // bind_reshard comes before bind_reshard_program and the functions after it, because they use its
  // types.
  weft::python::register_errors();
  weft::python::bind_trace(module);
  weft::python::bind_predict(module);
  weft::python::bind_sim(module);
  weft::python::bind_diagnose(module);
  weft::python::bind_report(module);
  weft::python::bind_tables(module);
  weft::python::bind_reshard(module);
  weft::python::bind_reshard_program(module);
  weft::python::bind_reshard_process(module);
  weft::python::bind_reshard_neighbours(module);
  weft::python::bind_reshard_kernels(module);
}
