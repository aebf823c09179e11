# divvy_timeslice_so     lib/libdivvy-timeslice.so, of its own name: it stands for no driver
divvy_interposer_library(
  divvy_timeslice_so
  libdivvy-timeslice
  libdivvy-timeslice.so
  ${CMAKE_CURRENT_SOURCE_DIR}/timeslice/timeslice.map
  timeslice/timeslice.cpp
)
target_compile_options(
  divvy_timeslice_so
  PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:${DIVVY_WARNINGS}
    ${interposer_flags}>
)
target_include_directories(divvy_timeslice_so PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(
  divvy_timeslice_so
  PRIVATE
    divvy_interposer
    divvy_abi
)
