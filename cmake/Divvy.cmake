# Helpers shared by every folder's CMakeLists.txt.
include(CheckCXXCompilerFlag)
find_program(DIVVY_CCACHE ccache)
if(DIVVY_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${DIVVY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DIVVY_CCACHE})
endif()

set(DIVVY_SANITIZE "" CACHE STRING "Comma-separated list for -fsanitize=")
option(DIVVY_FUZZ "Build the libFuzzer targets (needs clang)" OFF)

set(
  DIVVY_WARNINGS
  -Wall
  -Wextra
  -Wshadow
  -Wconversion
  -Wno-sign-conversion
  -Werror
)

if(DIVVY_SANITIZE)
  add_compile_options(
    -fsanitize=${DIVVY_SANITIZE}
    -fno-sanitize-recover=all
    -fno-omit-frame-pointer
  )
  add_link_options(-fsanitize=${DIVVY_SANITIZE})
  if(DIVVY_SANITIZE MATCHES thread)
    add_compile_options(-Wno-tsan) # fences are not modelled; the simulated driver's readers use one
  endif()
endif()

# Of what -fsanitize=undefined looks for, a quarter of the time to compile goes into pointers. Bytes
# are taken for something else in these folders; in others nobody looks for misaligned ones.
set(
  DIVVY_BYTES
  abi
  arbiter
  base
  driver
  interposer
  ledger
  ptx
  simgpu
)
# These compute for most of the time of the sanitizers' tests. Others take longer to compile than that saves.
set(
  DIVVY_COMPUTES
  engine
  simulator
)
function(divvy_sanitize_options name)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  if(DIVVY_SANITIZE AND folder IN_LIST DIVVY_COMPUTES)
    # The sanitizers' code makes GCC's warning of uninitialised values wrong, in <regex> for one.
    target_compile_options(
      ${name}
      PRIVATE
        -O1
        -Wno-maybe-uninitialized
    )
  endif()
  if(DIVVY_SANITIZE MATCHES undefined AND NOT folder IN_LIST DIVVY_BYTES)
    target_compile_options(${name} PRIVATE -fno-sanitize=alignment,null,object-size,vptr)
  endif()
endfunction()

# divvy_library(NAME SOURCES... [DEPS ...]): a static library whose public headers are
# <folder>/include/<folder>/*.h; nothing else is visible to others.
function(divvy_library name)
  # gersemi: hints { SOURCES: sort }
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(divvy_${name} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_compile_options(divvy_${name} PRIVATE ${DIVVY_WARNINGS})
    divvy_sanitize_options(divvy_${name})
    target_include_directories(divvy_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  else()
    add_library(divvy_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(
    divvy_${name}
    ${scope}
    ${CMAKE_CURRENT_SOURCE_DIR}/include
  )
  target_link_libraries(
    divvy_${name}
    ${scope}
    ${ARG_DEPS}
  )
endfunction()

# divvy_embed(OUT ROOT folder PATTERNS glob... HEADER h TYPE namespace::Type FUNCTION f): builds the texts of files into
# the program. OUT is set to a generated source, which defines `const std::vector<Type>& f()`. HEADER declares f and Type:
# a struct of a file's path in ROOT and its text. PATTERNS are below ROOT. The list is ascending by path.
function(divvy_embed out)
  cmake_parse_arguments(ARG "" "ROOT;HEADER;TYPE;FUNCTION" "PATTERNS" ${ARGN})
  set(globs ${ARG_PATTERNS})
  list(TRANSFORM globs PREPEND ${ARG_ROOT}/)
  file(GLOB files CONFIGURE_DEPENDS ${globs})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  set(script ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
  add_custom_command(
    OUTPUT
      ${made}
    COMMAND
      ${CMAKE_COMMAND} -DOUT=${made} -DROOT=${ARG_ROOT} "-DPATTERNS=${ARG_PATTERNS}"
      -DHEADER=${ARG_HEADER} -DTYPE=${ARG_TYPE} -DFUNCTION=${ARG_FUNCTION} -P ${script}
    DEPENDS
      ${files}
      ${script}
    VERBATIM
  )
  set(${out} ${made} PARENT_SCOPE)
endfunction()

# divvy_test(NAME SOURCES... [DEPS ...] [KIND unit|property|process] [SANITIZE both|asan] [THREADS FILTER]
#            [TIMEOUT s] [OPTIMIZED]):
# one GoogleTest program, one ctest entry. The environment names the build's products so that no test
# guesses a path.
#
# KIND is the entry's label (docs/development/testing.md): unit (default) is one process and no clock, property draws examples,
# process starts the product or programs of the test.
#
# A test's own sources are compiled without optimisation, in half the time. OPTIMIZED is for tests that compute
# much themselves.
#
# DIVVY_CUDA_HEADERS and DIVVY_OLD_LIBC name what `./dev test` fetched; a test skips, and says so,
# where they are absent.
#
# SANITIZE: the test belongs to divvy_sanitize, which `./dev sanitize` builds and runs. asan is for tests of one
# thread, which tsan tells nothing about. In a sanitizer's preset the label of such a test is sanitize.
#
# THREADS: the tests of the program that start threads, as a filter of GoogleTest's: tsan runs only these.
if(DIVVY_TESTS)
  find_package(GTest REQUIRED)
endif()
set(
  DIVVY_TEST_ENVIRONMENT
  DIVVY_BUILD_DIR=${CMAKE_BINARY_DIR}
  DIVVY_SOURCE_DIR=${CMAKE_SOURCE_DIR}
  DIVVY_CUDA_HEADERS=${CMAKE_SOURCE_DIR}/build/headers
  DIVVY_OLD_LIBC=${CMAKE_SOURCE_DIR}/build/old-libc/root
)
# The product's files that a test which is a script needs (tools/test_files.py).
set(
  DIVVY_PRODUCT_FILES
  $<TARGET_FILE:divvy>
  $<TARGET_FILE:divvy_cuda_so>
  $<TARGET_FILE:divvy_nvml_so>
  $<TARGET_FILE:divvy_timeslice_so>
  $<TARGET_FILE:divvy_simgpu_cuda>
  $<TARGET_FILE:divvy_simgpu_nvml>
)
add_custom_target(divvy_sanitize)

# GNU ld needs 2 s for a test of the agent, mold a tenth of that. What ships is linked by GNU ld.
find_program(DIVVY_MOLD mold)
set(DIVVY_TEST_LINK_OPTIONS)
if(DIVVY_MOLD AND NOT DIVVY_FUZZ)
  set(DIVVY_TEST_LINK_OPTIONS -fuse-ld=mold)
endif()

# A processor is eight slots of ctest's (tools/run-tests). A test takes as many as its part of a processor needs,
# and the longest ones start first, both as measured (tests/costs.tsv). A test that is not in the table computes, and is short.
file(STRINGS ${CMAKE_SOURCE_DIR}/tests/costs.tsv divvy_costs REGEX "^[^#]")
set_property(
  DIRECTORY
    ${CMAKE_SOURCE_DIR}
  APPEND
  PROPERTY
    CMAKE_CONFIGURE_DEPENDS
      ${CMAKE_SOURCE_DIR}/tests/costs.tsv
)
foreach(row ${divvy_costs})
  string(
    REGEX MATCH "^([^\t]+)\t([0-9]+)[0-9.]*\t([0-9]+)"
    matched
    "${row}"
  )
  set(DIVVY_SECONDS_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
  math(EXPR slots "(${CMAKE_MATCH_3} * 8 + ${CMAKE_MATCH_2} / 2) / ${CMAKE_MATCH_2}")
  if(slots LESS 1)
    set(slots 1)
  elseif(slots GREATER 8)
    set(slots 8)
  endif()
  set(DIVVY_SLOTS_${CMAKE_MATCH_1} ${slots})
endforeach()
# divvy_slots(TEST)
function(divvy_slots test)
  if(DEFINED DIVVY_SLOTS_${test})
    set_tests_properties(
      ${test}
      PROPERTIES
        PROCESSORS
          ${DIVVY_SLOTS_${test}}
        COST
          ${DIVVY_SECONDS_${test}}
    )
  else()
    set_tests_properties(
      ${test}
      PROPERTIES
        PROCESSORS
          6
        COST
          1
    )
  endif()
endfunction()

# divvy_judges_times(TEST): by the simulated card's own log, which a machine that is late distorts somewhat. It has a
# the larger part of a processor for itself, and no other such test beside it.
function(divvy_judges_times test)
  set_tests_properties(
    ${test}
    PROPERTIES
      PROCESSORS
        5
      RESOURCE_LOCK
        clock
  )
endfunction()

function(divvy_test name)
  # gersemi: hints { SOURCES: sort }
  cmake_parse_arguments(ARG "OPTIMIZED" "TIMEOUT;KIND;SANITIZE;THREADS" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT ARG_KIND)
    set(ARG_KIND unit)
  endif()
  if(DIVVY_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5") # unoptimised, and watched at every access
  endif()
  add_executable(${name} ${ARG_SOURCES})
  # Headers that the tests of one module share lie beside its folders.
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${DIVVY_WARNINGS})
  divvy_sanitize_options(${name})
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  endif()
  target_link_libraries(
    ${name}
    PRIVATE
      ${ARG_DEPS}
      GTest::gtest
      GTest::gmock
      GTest::gtest_main
  )
  target_link_options(${name} PRIVATE ${DIVVY_TEST_LINK_OPTIONS})
  set_target_properties(
    ${name}
    PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY
        ${CMAKE_BINARY_DIR}/tests
  )
  if(
    ARG_SANITIZE
      STREQUAL
      "both"
    OR
      (
        ARG_SANITIZE
          STREQUAL
          "asan"
        AND
          DIVVY_SANITIZE
            MATCHES
            address
      )
  )
    add_dependencies(divvy_sanitize ${name})
    if(DIVVY_SANITIZE)
      set(ARG_KIND sanitize)
    endif()
  endif()
  set(arguments)
  if(ARG_THREADS AND DIVVY_SANITIZE MATCHES thread)
    set(arguments --gtest_filter=${ARG_THREADS})
  endif()
  add_test(
    NAME ${name}
    COMMAND
      ${name} ${arguments}
  )
  set_tests_properties(
    ${name}
    PROPERTIES
      TIMEOUT
        ${ARG_TIMEOUT}
      LABELS
        ${ARG_KIND}
      REQUIRED_FILES
        $<TARGET_FILE:${name}>
      ENVIRONMENT
        "${DIVVY_TEST_ENVIRONMENT}"
  )
  divvy_slots(${name})
endfunction()
