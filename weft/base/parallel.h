// SPDX-License-Identifier: Apache-2.0
// The only way for rooms to use threads (implemented with oneTBB). Work items must be independent
// of each other, and each item must write only to its own slot. Then results do not depend on the
// number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace weft {

/// Calls body(i) for every i in [0, n), on up to `max_threads()` threads. If a call throws an
/// exception, parallel_for() throws it to its caller.
void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body);

/// Sets the number of threads for all later calls of parallel_for(). 0 means one thread per core.
void set_max_threads(std::size_t n);
std::size_t max_threads();

}  // namespace weft
