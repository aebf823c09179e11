# Time and work. The timeline and its file without a driver:
foreach(suite timeline engine_file)
  divvy_test(
    simgpu_exec_${suite}_test
    SOURCES
      cuda/engine/exec_${suite}_test.cpp
    DEPS
      divvy_simgpu_reader
  )
  target_include_directories(simgpu_exec_${suite}_test PRIVATE ${CMAKE_SOURCE_DIR}/src/simgpu)
endforeach()

# Programs on the built driver:
foreach(
  suite
  stream
  event
  event_ipc
  capture
  graph
  kernel
  ptx
  copy
  share
)
  divvy_test(
    simgpu_exec_${suite}_test
    SOURCES
      cuda/engine/exec_${suite}_test.cpp
    DEPS
      divvy_abi
      divvy_simgpu_reader
      ${CMAKE_DL_LIBS}
    TIMEOUT 120
  )
  add_dependencies(simgpu_exec_${suite}_test divvy_simgpu_cuda)
endforeach()
