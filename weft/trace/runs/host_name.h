// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace weft::trace {

/// A host without its domain: profilers and launchers disagree about whether it belongs there.
inline std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

}  // namespace weft::trace
