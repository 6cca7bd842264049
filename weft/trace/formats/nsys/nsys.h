// SPDX-License-Identifier: Apache-2.0
// Reader of Nsight Systems recordings that `nsys export --type sqlite` exported. One file contains
// all ranks of a host. SQLite needs random access to the database. So, unlike the other readers,
// this one holds the whole (uncompressed) file in memory.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

std::unique_ptr<Reader> make_nsys_reader();

}  // namespace weft::trace
