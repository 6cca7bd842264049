// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a question that long work asks itself, so that what is known can still be told.
#pragma once

namespace weft::cli {

/// From now on the first SIGINT sets interrupted(); a second one ends the process at once (130).
/// A reader of our output that goes away is no reason for noise: SIGPIPE is ignored.
void install_signal_handlers();

bool interrupted();

}  // namespace weft::cli
