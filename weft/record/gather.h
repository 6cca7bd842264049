// SPDX-License-Identifier: Apache-2.0
// Folders of several hosts into one, so that a job lies in one place.
#pragma once

#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::record {

/// "host:path" or "user@host:path", as rsync and scp take them; a slash before the colon makes it a
/// path of this machine.
bool is_remote(const std::string& source);

/// The command that copies the files of a remote folder into `stage`: rsync where this machine has
/// it, else scp.
std::vector<std::string> fetch_command(const std::string& source, const std::string& stage);

struct Gathered {
  std::string source;  ///< as the user named it
  std::string folder;  ///< where its files lie on this machine
};

/// Puts the recordings of all sources into `folder`, as links where the disk allows it. Two
/// different files of one name are an Error, before anything is put anywhere; so is a source
/// without a recording. Files that `folder` holds already count as another source.
Status join(const std::vector<Gathered>& sources, const std::string& folder);

}  // namespace weft::record
