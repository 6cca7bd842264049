// SPDX-License-Identifier: Apache-2.0
// Recognises files that users often pass instead of a trace (archives, link tables, ...), and gives
// advice on each.
#pragma once

#include <string_view>

namespace weft::trace {

/// Returns advice, for example "this is a tar archive; unpack it ...". Returns "" if Weft does not
/// know this sort of file. `head` is the beginning of the file's content.
std::string_view advice_on_foreign_file(std::string_view path, std::string_view head);

}  // namespace weft::trace
