// SPDX-License-Identifier: Apache-2.0
// Reader of what `nsys export --type sqlite` makes of an Nsight Systems recording. One file holds
// all ranks of a host. SQLite needs the whole database at hand, so unlike the other readers this
// one holds the (unpacked) file in memory.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

std::unique_ptr<Reader> make_nsys_reader();

}  // namespace weft::trace
