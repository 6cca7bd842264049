// SPDX-License-Identifier: Apache-2.0
// Looks up functions of shared libraries at run time.
#pragma once

#include <string>

#include "weft/base/result.h"

namespace weft::reshard::execute::cuda {

class Loader {
 public:
  /// Loads the library and never unloads it. Returns an Error (kUnavailable) if it cannot be
  /// loaded.
  static Result<Loader> open(const std::string& path);

  template <class F>
  Status find(const char* name, F*& function) const {
    WEFT_ASSIGN(void* address, address_of(name));
    function = reinterpret_cast<F*>(address);
    return {};
  }

 private:
  Loader(void* library, std::string path) : library_(library), path_(std::move(path)) {}
  Result<void*> address_of(const char* name) const;

  void* library_;
  std::string path_;
};

}  // namespace weft::reshard::execute::cuda
