# Finds the third-party libraries. No other file does this. All libraries come from the Linux
# distribution. The build downloads nothing, and the repository contains no copies of libraries.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
# esbuild bundles the web page of the report.
find_program(WEFT_ESBUILD esbuild)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
# CUDA is optional. Only the kernels for GPUs need it, and they are in a separate library.
set(WEFT_WITH_CUDA OFF)
if(WEFT_CUDA AND NOT WEFT_SANITIZE)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      # Make machine code for A100, H100 and B200, and PTX code for B200. Later GPUs compile the PTX
      # code when the library is loaded.
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
    endif()
    enable_language(CUDA)
    # CUDA 12.8 is the first version that supports B200. It also supports C++20, but older versions
    # of CMake (before 3.25.2) do not know the option for C++20.
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
  # With Python 3.12 and later, scikit-build-core sets SKBUILD_SABI_COMPONENT to ask for the stable
  # ABI.
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
                                               ${SKBUILD_SABI_COMPONENT})
  # nanobind is a Python package. This command prints the folder of its CMake files.
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
  find_package(nanobind CONFIG REQUIRED)
endif()
