# divvy_interposer_nvml  the NVML hooks as objects, for the library and for tests with a fake driver
# divvy_nvml_so          lib/libdivvy-nvml.so, SONAME libnvidia-ml.so.1
set(nvml_stubs ${DIVVY_ABI_GEN_DIR}/interposer/nvml_stubs.S)
set_source_files_properties(
  ${nvml_stubs}
  PROPERTIES
    GENERATED
      TRUE
)

add_library(
  divvy_interposer_nvml
  OBJECT
  loader/real_dlopen_plain.cpp
  nvml/device_view.cpp
  nvml/devices.cpp
  nvml/nvml_table.cpp
  nvml/memory.cpp
  nvml/processes.cpp
  nvml/samples.cpp
  nvml/tenant.cpp
  nvml/tenant_processes.cpp
)
target_compile_options(
  divvy_interposer_nvml
  PRIVATE
    ${DIVVY_WARNINGS}
    ${interposer_flags}
)
target_link_libraries(
  divvy_interposer_nvml
  PUBLIC
    divvy_interposer_parts
    divvy_abi
)

divvy_interposer_library(
  divvy_nvml_so
  libdivvy-nvml
  libnvidia-ml.so.1
  ${DIVVY_ABI_GEN_DIR}/interposer/nvml.map
  $<TARGET_OBJECTS:divvy_interposer_nvml>
  ${nvml_stubs}
)
target_link_libraries(
  divvy_nvml_so
  PRIVATE
    divvy_interposer_parts
    divvy_abi
)
