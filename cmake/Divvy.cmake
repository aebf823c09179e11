# Helpers shared by every folder's CMakeLists.txt.
include(CheckCXXCompilerFlag)
find_program(DIVVY_CCACHE ccache)
if(DIVVY_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${DIVVY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DIVVY_CCACHE})
endif()

set(DIVVY_SANITIZE "" CACHE STRING "Comma-separated list for -fsanitize=")
option(DIVVY_FUZZ "Build the libFuzzer targets (needs clang)" OFF)

set(DIVVY_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror)

if(DIVVY_SANITIZE)
  add_compile_options(-fsanitize=${DIVVY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DIVVY_SANITIZE})
  if(DIVVY_SANITIZE MATCHES thread)
    add_compile_options(-Wno-tsan)  # fences are not modelled; the simulated driver's readers use one
  endif()
endif()

# Of what -fsanitize=undefined looks for, a quarter of the time to compile goes into pointers. Bytes
# are taken for something else in these folders; in others nobody looks for misaligned ones.
set(DIVVY_BYTES abi arbiter base driver interposer ledger ptx simgpu)
function(divvy_sanitize_options name)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  if(DIVVY_SANITIZE MATCHES undefined AND NOT folder IN_LIST DIVVY_BYTES)
    target_compile_options(${name} PRIVATE -fno-sanitize=alignment,null,object-size,vptr)
  endif()
endfunction()

# divvy_library(NAME SOURCES... [DEPS ...]): a static library whose public headers are
# <folder>/include/<folder>/*.h; nothing else is visible to others.
function(divvy_library name)
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
  target_include_directories(divvy_${name} ${scope} ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(divvy_${name} ${scope} ${ARG_DEPS})
endfunction()

# divvy_test(NAME SOURCES... [DEPS ...] [LABELS ...] [TIMEOUT s] [OPTIMIZED]): one GoogleTest program,
# one ctest entry. The environment names the build's products so that no test guesses a path.
#
# A test's own sources are compiled without optimisation, in half the time: what they test is not.
# OPTIMIZED is for those that compute much themselves.
#
# DIVVY_CUDA_HEADERS and DIVVY_OLD_LIBC name what `./dev test` fetched; tests skip, and say so,
# where they are absent.
#
# LABELS that mean something: sanitize (runs under asan and tsan too, built by divvy_sanitize), asan
# (under asan only: what has one thread gains nothing from tsan), e2e (whole product), long
# (left out of nothing, only marked).
find_package(GTest REQUIRED)
set(DIVVY_TEST_ENVIRONMENT DIVVY_BUILD_DIR=${CMAKE_BINARY_DIR} DIVVY_SOURCE_DIR=${CMAKE_SOURCE_DIR}
  DIVVY_CUDA_HEADERS=${CMAKE_SOURCE_DIR}/build/headers
  DIVVY_OLD_LIBC=${CMAKE_SOURCE_DIR}/build/old-libc/root)
add_custom_target(divvy_sanitize)

# A processor is two slots of ctest's (tools/run-tests). A test takes both, or one where it waits for
# most of its time: its processor time was measured to be below half of what passes by the clock.
set(DIVVY_WAITING agent_driver_desk_test agent_start_test arbiter_thread_test bench_works_test card_simulated_agent
  cli_control_test cli_doctor_test desk_test e2e_agent_death e2e_bad_input e2e_bypass e2e_checkpoint e2e_host_map e2e_idle
  e2e_kept_share e2e_late_driver e2e_metrics e2e_podman e2e_pressure interposer_gate_test interposer_last_use_test interposer_memory_gate_test
  interposer_mover_test kubelet_plugin_test)
# divvy_slots(TEST [LIKE]): LIKE is the test of which it is a variant.
function(divvy_slots test)
  set(slots 2)
  if(test IN_LIST DIVVY_WAITING OR "${ARGN}" IN_LIST DIVVY_WAITING)
    set(slots 1)
  endif()
  set_tests_properties(${test} PROPERTIES PROCESSORS ${slots})
endfunction()
function(divvy_test name)
  cmake_parse_arguments(ARG "OPTIMIZED" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(DIVVY_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")  # unoptimised, and watched at every access
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${DIVVY_WARNINGS})
  divvy_sanitize_options(${name})
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if("asan" IN_LIST ARG_LABELS AND DIVVY_SANITIZE MATCHES address)
    list(APPEND ARG_LABELS sanitize)
  endif()
  if("sanitize" IN_LIST ARG_LABELS)
    add_dependencies(divvy_sanitize ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "${DIVVY_TEST_ENVIRONMENT}")
  divvy_slots(${name})
endfunction()
