// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include "weft/base/file.h"

namespace weft::cli {

Status write_output(Console& console, const std::string& path, std::string content) {
  if (path != kStandardOutput) return write_file(path, content);
  if (console.file) {
    return fail(ErrorCode::kUsage, "only one file can go to stdout; name the other file");
  }
  console.file = std::move(content);
  return {};
}

}  // namespace weft::cli
