// SPDX-License-Identifier: Apache-2.0
// XSpace protobuf of JAX, XLA and TensorFlow (plugins/profile/RUN/HOST.xplane.pb), plain or gzip.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// Gives one RankTrace a device of the process, numbered as the process counts them; files of
/// several hosts are joined when runs are sorted. See xplane/assemble.h for who gets which events.
std::unique_ptr<Reader> make_xplane_reader();

}  // namespace weft::trace
