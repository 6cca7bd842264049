// SPDX-License-Identifier: Apache-2.0
// Joins folders in two passes, so that a conflict leaves the target folder unchanged. First, plan()
// lists the files of all sources and finds conflicts. Then join() links or copies the files. The
// target folder counts as a source too. So if it already has a file, plan() has checked that the
// file is the same as in the other sources.
#include "weft/record/gather.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "weft/record/folder.h"

namespace weft::record {
namespace {

namespace fs = std::filesystem;

/// Whether a folder of PATH contains a program with this name.
bool is_command(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::error_code ignored;
    if (fs::exists(fs::path(rest.substr(0, end)) / name, ignored)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

/// Whether two files have the same content. If the two paths lead to the same file (through a
/// shared file system or an earlier link), the content need not be read.
bool same_content(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  if (fs::file_size(a, error) != fs::file_size(b, error) || error) return false;
  std::ifstream left(a, std::ios::binary);
  std::ifstream right(b, std::ios::binary);
  std::string one(1u << 20, '\0');
  std::string two(1u << 20, '\0');
  while (left && right) {
    left.read(one.data(), static_cast<std::streamsize>(one.size()));
    right.read(two.data(), static_cast<std::streamsize>(two.size()));
    const auto count = static_cast<std::size_t>(left.gcount());
    if (left.gcount() != right.gcount() || one.compare(0, count, two, 0, count) != 0) return false;
  }
  return true;
}

struct Place {
  fs::path path;
  std::string source;
};

/// Chooses for each file name the file to use. Returns an Error if two sources have different files
/// of the same name.
Result<std::map<std::string, Place>> plan(const std::vector<Gathered>& sources) {
  std::map<std::string, Place> places;
  for (const Gathered& source : sources) {
    std::error_code error;
    bool any = false;
    for (fs::directory_iterator it(source.folder, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (!is_recording(name)) continue;
      any = true;
      const auto [found, fresh] = places.try_emplace(name, Place{it->path(), source.source});
      if (fresh || same_content(found->second.path, it->path())) continue;
      return fail(
          ErrorCode::kBadInput,
          fmt::format("{} is in {} and in {}, and the two files differ: either these are two "
                      "recordings, or two hosts used the same rank; gather them separately",
                      name, found->second.source, source.source));
    }
    if (error) return fail(ErrorCode::kIo, "cannot list: " + error.message(), source.source);
    if (!any) {
      return fail(ErrorCode::kBadInput,
                  "this folder contains no recording; name the folder that weft record was given "
                  "with -o",
                  source.source);
    }
  }
  return places;
}

}  // namespace

bool is_remote(const std::string& source) {
  const std::size_t colon = source.find(':');
  return colon != std::string::npos && colon > 0 && source.find('/') > colon;
}

std::vector<std::string> fetch_command(const std::string& source, const std::string& stage) {
  // With a slash at its end, rsync copies the contents of the folder and not the folder itself.
  const std::string folder = source.ends_with('/') ? source : source + "/";
  if (is_command("rsync")) return {"rsync", "-a", "--exclude=.*", folder, stage + "/"};
  return {"scp", "-q", "-p", folder + "*", stage + "/"};
}

Status join(const std::vector<Gathered>& sources, const std::string& folder) {
  std::vector<Gathered> all = sources;
  WEFT_ASSIGN(const RecordedFolder before, look_at(folder));
  if (!before.traces.empty() || !before.jobs.empty()) all.insert(all.begin(), {folder, folder});
  WEFT_ASSIGN(const auto places, plan(all));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(ErrorCode::kIo, "cannot make the folder: " + error.message(), folder);
  for (const auto& [name, place] : places) {
    const fs::path target = fs::path(folder) / name;
    if (fs::exists(target, error)) continue;
    fs::create_hard_link(place.path, target, error);
    if (!error) continue;
    // Copy under another name first, so that an incomplete copy is never taken for the file.
    const fs::path partial = fs::path(folder) / fmt::format(".{}.part", name);
    fs::copy_file(place.path, partial, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(partial, target, error);
    if (error) {
      std::error_code ignored;
      fs::remove(partial, ignored);
      return fail(ErrorCode::kIo, "cannot copy: " + error.message(), place.path.string());
    }
  }
  return {};
}

}  // namespace weft::record
