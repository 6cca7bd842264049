// SPDX-License-Identifier: Apache-2.0
// Joins the folders of several hosts into one, so that all files of a job are in one place.
#pragma once

#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::record {

/// Whether `source` is "host:path" or "user@host:path", in the form of rsync and scp. If there is a
/// slash before the colon, `source` is a path on this machine.
bool is_remote(const std::string& source);

/// The command that copies the files of a remote folder into the local folder `stage`: rsync if
/// this machine has it, else scp.
std::vector<std::string> fetch_command(const std::string& source, const std::string& stage);

struct Gathered {
  std::string source;  ///< as the user wrote it
  std::string folder;  ///< the folder on this machine that contains its files
};

/// Puts the recordings of all sources into `folder`, as hard links if the file system allows it,
/// else as copies. Files that `folder` already contains count as another source. Returns an Error,
/// and writes nothing, if two different files have the same name or if a source has no recording.
Status join(const std::vector<Gathered>& sources, const std::string& folder);

}  // namespace weft::record
