// SPDX-License-Identifier: Apache-2.0
// Exports a table as an Arrow C stream. The structs below are a stable binary interface, so Weft
// needs no Arrow library. Columns are not copied: every array that a consumer holds keeps the table
// alive.
#pragma once

#include <memory>

#include "weft/report/exports/table.h"

// Copied from the Arrow C data interface specification, with the include guard that it demands.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_NULLABLE 2
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
#endif

namespace weft::python {

/// Fills `out` with a stream of one record batch. As Arrow demands, the caller releases the stream
/// and every schema and array that it gets from it.
void export_stream(std::shared_ptr<const report::Table> table, ArrowArrayStream* out);

}  // namespace weft::python
