# The only place that looks for third-party libraries. All come from the distribution; nothing is
# fetched or vendored.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
# Bundles the page of the report.
find_program(WEFT_ESBUILD esbuild)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
# Optional: only the kernels need it, and they are a library of their own.
set(WEFT_WITH_CUDA OFF)
if(WEFT_CUDA AND NOT WEFT_SANITIZE)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      # A100, H100 and B200 as machine code; later ones compile the last's PTX when it is loaded.
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
    endif()
    enable_language(CUDA)
    # The B200 came with 12.8, C++20 before it; CMake before 3.25.2 knows nothing of the former.
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
      if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
      endif()
      set(WEFT_WITH_CUDA ON)
    endif()
  endif()
endif()
if(NOT WEFT_WITH_CUDA)
  message(STATUS "no CUDA compiler of at least 12.8, or not asked for: libweft-cuda.so is not built")
endif()
if(WEFT_TESTS)
  find_package(GTest REQUIRED)
endif()
if(WEFT_BENCH)
  find_package(benchmark REQUIRED)
endif()
if(WEFT_PYTHON)
  # scikit-build-core asks for the stable ABI (SKBUILD_SABI_COMPONENT) from Python 3.12 on.
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
                                               ${SKBUILD_SABI_COMPONENT})
  # nanobind is a Python package; it knows where its CMake files lie.
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
  find_package(nanobind CONFIG REQUIRED)
endif()
