// SPDX-License-Identifier: Apache-2.0
// Shortens names of hosts, so that they can be compared.
#pragma once

#include <string_view>

namespace weft::trace {

/// Returns the name of a host without its domain. Some profilers and launchers write the domain,
/// and others do not. So names are compared without it.
inline std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

}  // namespace weft::trace
