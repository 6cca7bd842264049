// SPDX-License-Identifier: Apache-2.0
// The only way for rooms to use threads (implemented with oneTBB). Work items must be independent,
// and each must write only to its own slot, so that results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace weft {

/// Calls body(i) for every i in [0, n), on up to `max_threads()` threads. Exceptions propagate.
void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body);

/// 0 means all cores of the machine. Applies to all later calls of parallel_for().
void set_max_threads(std::size_t n);
std::size_t max_threads();

}  // namespace weft
