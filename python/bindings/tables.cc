// SPDX-License-Identifier: Apache-2.0
// A Table owns its columns; NumPy views and Arrow streams share them without a copy and keep the
// table alive. Conversions to NumPy and pandas are written in Python (weft.tables), so that pandas
// is imported only if somebody asks for it.
#include "python/bindings/tables.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "python/bindings/arrow.h"
#include "python/bindings/errors.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run.h"
#include "weft/report/exports/export.h"
#include "weft/report/exports/tables.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using SharedTable = std::shared_ptr<const report::Table>;

struct PyTable {
  SharedTable table;
};

const report::Column& column_of(const PyTable& self, const std::string& name) {
  for (const report::Column& column : self.table->columns) {
    if (column.name == name) return column;
  }
  throw nb::key_error(name.c_str());
}

/// A read-only NumPy view that keeps the table alive.
template <class T>
nb::object view(const SharedTable& table, const std::vector<T>& values) {
  auto owner = std::make_unique<SharedTable>(table);
  const nb::capsule keep(owner.get(),
                         [](void* pointer) noexcept { delete static_cast<SharedTable*>(pointer); });
  owner.release();
  return nb::cast(
      nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, keep));
}

nb::object values_of(const PyTable& self, const std::string& name) {
  const report::Column& column = column_of(self, name);
  if (const auto* texts = std::get_if<report::Texts>(&column.values)) {
    return view(self.table, texts->codes);
  }
  return view(self.table, std::get<report::Integers>(column.values));
}

nb::object texts_of(const PyTable& self, const std::string& name) {
  const auto* texts = std::get_if<report::Texts>(&column_of(self, name).values);
  if (texts == nullptr) return nb::none();
  nb::list list;
  for (std::size_t i = 0; i < texts->dictionary.size(); ++i) {
    const std::string_view text = texts->dictionary.text(i);
    list.append(nb::str(text.data(), text.size()));
  }
  return list;
}

nb::capsule arrow_stream(const PyTable& self, const nb::object&) {
  auto stream = std::make_unique<ArrowArrayStream>();
  export_stream(self.table, stream.get());
  // A consumer that takes the stream over sets its `release` to null. Then only the struct itself
  // is left to delete.
  nb::capsule capsule(stream.get(), "arrow_array_stream", [](void* pointer) noexcept {
    auto* const owned = static_cast<ArrowArrayStream*>(pointer);
    if (owned->release != nullptr) owned->release(owned);
    delete owned;
  });
  stream.release();
  return capsule;
}

PyTable table_of(const PyRun& run, const std::string& name) {
  Result<SharedTable> table;
  run_interruptible([&](const std::atomic<bool>&) {
    table = [&]() -> Result<SharedTable> {
      WEFT_TRY(report::find_table(name));
      WEFT_ASSIGN(const auto built, job_of(*run.loaded));
      WEFT_ASSIGN(report::Table made, report::make_table(built->job, name));
      return std::make_shared<const report::Table>(std::move(made));
    }();
  });
  if (!table) raise(table.error());
  return {*table};
}

void export_run(const PyRun& run, const nb::object& path, const std::optional<std::string>& format,
                const std::optional<std::string>& table) {
  const auto target = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(path));
  Status status;
  run_interruptible([&](const std::atomic<bool>& cancel) {
    status = [&]() -> Status {
      report::ExportOptions options;
      WEFT_ASSIGN(const report::ExportFormat found,
                  report::find_format(format.value_or(""), target));
      options.format = found.name;
      options.table = table.value_or("");
      options.progress = [&](std::int64_t, std::int64_t) { return !cancel.load(); };
      WEFT_TRY(report::check_options(options));
      WEFT_ASSIGN(const auto built, job_of(*run.loaded));
      return report::export_file(built->job, options, target);
    }();
  });
  if (!status) raise(status.error());
}

/// Adds a method to Run, which bind_trace has made without knowing of tables.
template <class... Extra>
void add_to_run(nb::module_& module, const char* name, auto function, Extra... extra) {
  nb::cpp_function_def(function, nb::scope(module.attr("Run")), nb::name(name), nb::is_method(),
                       extra...);
}

}  // namespace

void bind_tables(nb::module_& module) {
  // A method of Table that is written in Python, as a function of weft.tables.
  const auto written_in_python = [](const char* name) {
    return [name](const nb::object& self) -> nb::object {
      return nb::module_::import_("weft.tables").attr(name)(self);
    };
  };
  nb::class_<PyTable>(module, "Table", "Columns of equal length; see docs/formats/export.md.")
      .def("__len__", [](const PyTable& self) { return self.table->rows(); })
      .def_prop_ro("name", [](const PyTable& self) { return self.table->name; })
      .def_prop_ro(
          "columns",
          [](const PyTable& self) {
            std::vector<std::string> names;
            for (const report::Column& column : self.table->columns) names.push_back(column.name);
            return names;
          },
          "The names of the columns, in order.")
      .def("values", &values_of, nb::arg("column"),
           "The column as it is stored: numbers, or indices into texts(column).")
      .def("texts", &texts_of, nb::arg("column"),
           "The distinct texts of a text column; None for a number column.")
      .def(
          "may_be_missing",
          [](const PyTable& self, const std::string& name) {
            return column_of(self, name).may_be_missing;
          },
          nb::arg("column"), "Whether -1 means \"no value\" in this column.")
      .def("to_numpy", written_in_python("to_numpy"), "Columns by name, as NumPy arrays.")
      .def("to_pandas", written_in_python("to_pandas"), "A pandas.DataFrame.")
      .def("__arrow_c_stream__", &arrow_stream, nb::arg("requested_schema").none() = nb::none(),
           "Lets pyarrow.table(), polars.DataFrame() and others read the table without copying.")
      .def("__repr__", [](const PyTable& self) {
        return "<weft.Table '" + self.table->name + "': " + std::to_string(self.table->rows()) +
               " rows, " + std::to_string(self.table->columns.size()) + " columns>";
      });
  add_to_run(module, "table", &table_of, nb::arg("name") = "events",
             "A table with data of all ranks, on one clock; see weft.Table.");
  add_to_run(module, "export", &export_run, nb::arg("path"), nb::arg("format").none() = nb::none(),
             nb::arg("table").none() = nb::none(), "Write a timeline or a table to a file.");
}

}  // namespace weft::python
