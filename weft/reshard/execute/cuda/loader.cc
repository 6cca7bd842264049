// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/loader.h"

#include <dlfcn.h>

namespace weft::reshard::execute::cuda {

Result<Loader> Loader::open(const std::string& path) {
  // RTLD_LOCAL, because symbols of the library must not replace symbols of the process. The library
  // is never closed, because its functions are copied to places that may outlive any owner.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return fail(ErrorCode::kUnavailable,
                "cannot be loaded (" + std::string(why == nullptr ? "no reason given" : why) +
                    "): give its path, or add its folder to LD_LIBRARY_PATH",
                path);
  }
  return Loader(library, path);
}

Result<void*> Loader::address_of(const char* name) const {
  void* address = dlsym(library_, name);
  if (address == nullptr) {
    return fail(ErrorCode::kUnavailable, "has no function " + std::string(name), path_);
  }
  return address;
}

}  // namespace weft::reshard::execute::cuda
