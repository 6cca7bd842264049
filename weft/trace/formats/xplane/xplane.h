// SPDX-License-Identifier: Apache-2.0
// Reader of JAX, XLA and TensorFlow profiles (plugins/profile/RUN/HOST.xplane.pb, plain or gzip).
// They are protobuf messages of type XSpace.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// The reader gives one RankTrace per device of the process, with the process's own number of the
/// device as rank. Files of several hosts are joined later, when runs are sorted.
/// xplane/assemble.h tells which events belong to which device.
std::unique_ptr<Reader> make_xplane_reader();

}  // namespace weft::trace
