// SPDX-License-Identifier: Apache-2.0
// For tests: a temporary folder with files, which is removed at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace weft::record {

class MadeFolder {
 public:
  explicit MadeFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              (name + "-" + std::to_string(std::hash<std::string>{}(name) % 1000) + "-" +
               std::to_string(static_cast<long>(
                   std::filesystem::file_time_type::clock::now().time_since_epoch().count())))) {
    std::filesystem::create_directories(path_);
  }
  ~MadeFolder() { std::filesystem::remove_all(path_); }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

  std::string path() const { return path_.string(); }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }

 private:
  std::filesystem::path path_;
};

}  // namespace weft::record
