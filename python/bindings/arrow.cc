// SPDX-License-Identifier: Apache-2.0
// Exports a table as one record batch: a struct array with one child per column. A text column is
// a dictionary-encoded array of 32-bit codes ("i") with large strings ("U") as its dictionary, a
// number column is an array of 64-bit integers ("l"). The buffers point into the table; only the
// validity bitmaps of number columns with missing values are built here.
#include "python/bindings/arrow.h"

#include <cerrno>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weft::python {
namespace {

using report::Column;
using report::Integers;
using report::Table;
using report::Texts;

/// The memory that belongs to one schema or array. The Arrow C interface lets a consumer move a
/// child out of its parent and release it separately. So each child has an Owner of its own, and a
/// parent releases only the children that are still in place, those whose `release` is not null.
template <class Struct>
struct Owner {
  std::vector<std::unique_ptr<Struct>> children;
  std::vector<Struct*> child_pointers;
  std::unique_ptr<Struct> dictionary;
  std::string name;                    // schemas
  std::shared_ptr<const Table> table;  // arrays
  std::vector<const void*> buffers;    // arrays
  std::vector<std::uint8_t> validity;  // arrays: one bit per row, least significant first

  ~Owner() {
    for (const auto& child : children) release(child.get());
    release(dictionary.get());
  }
  static void release(Struct* item) {
    if (item != nullptr && item->release != nullptr) item->release(item);
  }
};

template <class Struct>
void release_owned(Struct* item) {
  delete static_cast<Owner<Struct>*>(item->private_data);
  item->release = nullptr;
}

/// Makes `out` own `owner`. The caller has set all other fields of `out`.
template <class Struct>
void give(std::unique_ptr<Owner<Struct>> owner, Struct* out) {
  for (const auto& child : owner->children) owner->child_pointers.push_back(child.get());
  out->n_children = static_cast<std::int64_t>(owner->child_pointers.size());
  out->children = owner->child_pointers.data();
  out->dictionary = owner->dictionary.get();
  out->release = release_owned<Struct>;
  out->private_data = owner.release();
}

void make_schema(const char* format, const std::string& name, std::int64_t flags,
                 std::unique_ptr<Owner<ArrowSchema>> owner, ArrowSchema* out) {
  *out = {};
  owner->name = name;
  out->format = format;
  out->name = owner->name.c_str();
  out->flags = flags;
  give(std::move(owner), out);
}

void schema_of(const Column& column, ArrowSchema* out) {
  auto owner = std::make_unique<Owner<ArrowSchema>>();
  if (std::holds_alternative<Texts>(column.values)) {
    owner->dictionary = std::make_unique<ArrowSchema>();
    make_schema("U", "", 0, std::make_unique<Owner<ArrowSchema>>(), owner->dictionary.get());
    make_schema("i", column.name, 0, std::move(owner), out);
    return;
  }
  make_schema("l", column.name, column.may_be_missing ? ARROW_FLAG_NULLABLE : 0, std::move(owner),
              out);
}

void schema_of(const Table& table, ArrowSchema* out) {
  auto owner = std::make_unique<Owner<ArrowSchema>>();
  for (const Column& column : table.columns) {
    owner->children.push_back(std::make_unique<ArrowSchema>());
    schema_of(column, owner->children.back().get());
  }
  make_schema("+s", "", 0, std::move(owner), out);
}

void make_array(std::size_t length, std::unique_ptr<Owner<ArrowArray>> owner, ArrowArray* out) {
  const std::int64_t nulls = out->null_count;
  *out = {};
  out->length = static_cast<std::int64_t>(length);
  out->null_count = nulls;
  out->n_buffers = static_cast<std::int64_t>(owner->buffers.size());
  out->buffers = owner->buffers.data();
  give(std::move(owner), out);
}

std::unique_ptr<Owner<ArrowArray>> owner_of(const std::shared_ptr<const Table>& table,
                                            std::vector<const void*> buffers) {
  auto owner = std::make_unique<Owner<ArrowArray>>();
  owner->table = table;
  owner->buffers = std::move(buffers);
  return owner;
}

void array_of(const std::shared_ptr<const Table>& table, const Column& column, ArrowArray* out) {
  out->null_count = 0;
  if (const auto* texts = std::get_if<Texts>(&column.values)) {
    const report::Dictionary& dictionary = texts->dictionary;
    auto owner = owner_of(table, {nullptr, texts->codes.data()});
    owner->dictionary = std::make_unique<ArrowArray>();
    make_array(dictionary.size(),
               owner_of(table, {nullptr, dictionary.offsets.data(), dictionary.bytes.data()}),
               owner->dictionary.get());
    make_array(texts->codes.size(), std::move(owner), out);
    return;
  }
  const Integers& values = std::get<Integers>(column.values);
  auto owner = owner_of(table, {nullptr, values.data()});
  if (column.may_be_missing) {
    owner->validity.assign((values.size() + 7) / 8, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == report::kMissing) {
        ++out->null_count;
      } else {
        owner->validity[i / 8] = static_cast<std::uint8_t>(owner->validity[i / 8] | 1u << i % 8);
      }
    }
    owner->buffers[0] = owner->validity.data();
  }
  make_array(values.size(), std::move(owner), out);
}

void array_of(const std::shared_ptr<const Table>& table, ArrowArray* out) {
  auto owner = owner_of(table, {nullptr});
  for (const Column& column : table->columns) {
    owner->children.push_back(std::make_unique<ArrowArray>());
    array_of(table, column, owner->children.back().get());
  }
  out->null_count = 0;
  make_array(table->rows(), std::move(owner), out);
}

struct Stream {
  std::shared_ptr<const Table> table;
  bool done = false;
};

/// Runs a callback's work and returns its error code. C code calls the callbacks, so no exception
/// may leave them.
template <class Work>
int guarded(Work work) {
  try {
    work();
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace

void export_stream(std::shared_ptr<const report::Table> table, ArrowArrayStream* out) {
  *out = {};
  out->private_data = new Stream{std::move(table)};
  out->get_schema = [](ArrowArrayStream* self, ArrowSchema* schema) {
    return guarded([&] { schema_of(*static_cast<Stream*>(self->private_data)->table, schema); });
  };
  out->get_next = [](ArrowArrayStream* self, ArrowArray* array) {
    return guarded([&] {
      auto& stream = *static_cast<Stream*>(self->private_data);
      *array = {};  // an array whose release() is null marks the end of the stream
      if (!std::exchange(stream.done, true)) array_of(stream.table, array);
    });
  };
  out->get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
  out->release = [](ArrowArrayStream* self) {
    delete static_cast<Stream*>(self->private_data);
    self->release = nullptr;
  };
}

}  // namespace weft::python
