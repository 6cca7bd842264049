// SPDX-License-Identifier: Apache-2.0
// A table as an Arrow C stream: the structs are a stable interface, so no Arrow library is needed.
// Columns are not copied; what a consumer holds keeps the table alive.
#pragma once

#include <memory>

#include "weft/report/exports/table.h"

// As the Arrow specification spells them; the guard is the one it asks for.
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

/// A stream of one batch. The caller releases it, and each thing it gives, as Arrow demands.
void export_stream(std::shared_ptr<const report::Table> table, ArrowArrayStream* out);

}  // namespace weft::python
