# The only place that looks for third-party libraries. All come from the distribution; nothing is
# fetched or vendored.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
# Bundles the page of the report.
find_program(WEFT_ESBUILD esbuild REQUIRED)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
if(WEFT_TESTS)
  find_package(GTest REQUIRED)
endif()
if(WEFT_BENCH)
  find_package(benchmark REQUIRED)
endif()
if(WEFT_PYTHON)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
  # nanobind is a Python package; it knows where its CMake files lie.
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
  find_package(nanobind CONFIG REQUIRED)
endif()
