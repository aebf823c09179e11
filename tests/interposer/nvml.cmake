# The NVML hooks against a node whose every answer is known: no library, no driver.
divvy_test(
  interposer_nvml_hooks_test
  SOURCES
    $<TARGET_OBJECTS:divvy_interposer_nvml>
    nvml/device_view_test.cpp
    nvml/devices_test.cpp
    nvml/memory_test.cpp
    nvml/processes_test.cpp
    nvml_fake_driver.cpp
    nvml_tenant_dir.cpp
    nvml_threads_test.cpp
  DEPS
    divvy_interposer_parts
    divvy_abi
    divvy_ledger
  KIND process
  SANITIZE both
)

# What the built library promises to the loader.
divvy_test(
  interposer_nvml_elf_test
  SOURCES
    elf_facts.cpp
    nvml_elf_test.cpp
    run_program.cpp
  DEPS
    divvy_abi
  KIND process
)
add_dependencies(
  interposer_nvml_elf_test
  divvy_cuda_so
  divvy_nvml_so
  libc_only_probe
)

# The library in front of a driver of a dozen functions that call each other by their public names.
add_executable(nvml_probe nvml_probe.c)
target_link_libraries(nvml_probe PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(
  nvml_probe
  PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY
      ${CMAKE_BINARY_DIR}/tests
)
add_library(nvml_tiny_driver MODULE nvml_tiny_driver.c)
set_target_properties(
  nvml_tiny_driver
  PROPERTIES
    PREFIX
      ""
    OUTPUT_NAME
      libnvidia-ml
    SUFFIX
      .so.1
    LIBRARY_OUTPUT_DIRECTORY
      ${CMAKE_BINARY_DIR}/tests/tiny-nvml
)
target_link_options(nvml_tiny_driver PRIVATE -Wl,-soname,libnvidia-ml.so.1)
divvy_test(
  interposer_nvml_library_test
  SOURCES
    nvml_library_test.cpp
    nvml_tenant_dir.cpp
    run_program.cpp
  DEPS
    divvy_abi
    divvy_ledger
  KIND process
)
add_dependencies(
  interposer_nvml_library_test
  divvy_nvml_so
  nvml_probe
  nvml_tiny_driver
)

# Both libraries in front of the simulated driver.
add_executable(cuda_holder cuda_holder.c)
target_link_libraries(cuda_holder PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(
  cuda_holder
  PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY
      ${CMAKE_BINARY_DIR}/tests
)
configure_file(nvml_replay.py ${CMAKE_BINARY_DIR}/tests/nvml_replay.py COPYONLY)
divvy_test(
  interposer_nvml_simulated_test
  SOURCES
    nvml_replay_test.cpp
    nvml_simulated_test.cpp
    nvml_tenant_dir.cpp
    run_program.cpp
    simulated_node.cpp
  DEPS
    divvy_abi
    divvy_ledger
  TIMEOUT 120
  KIND process
)
add_dependencies(
  interposer_nvml_simulated_test
  divvy_cuda_so
  divvy_nvml_so
  divvy_simgpu_cuda
  divvy_simgpu_nvml
  cuda_holder
  nvml_probe
)
