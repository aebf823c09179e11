# Unity batches: files of a target that are compiled together (cmake/unity.py decides which, and why).
# Their headers are then read once for all of them, and what templates make of them is made once.
option(DIVVY_UNITY "Compile files of a target together" OFF)

# All targets of a folder and of those below it.
function(divvy_targets_of folder out)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    divvy_targets_of(${below} more)
    list(APPEND targets ${more})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# To be called when every target is there. A static library of which programs need single parts has the
# property DIVVY_APART: a linker takes whole object files.
function(divvy_unity)
  if(NOT DIVVY_UNITY)
    return()
  endif()
  divvy_targets_of(${CMAKE_SOURCE_DIR} targets)
  set(files)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(apart ${target} DIVVY_APART)
    if(type MATCHES "INTERFACE_LIBRARY|UTILITY" OR apart)
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
      # What is made by a command is not there yet.
      cmake_path(
        IS_PREFIX
        CMAKE_BINARY_DIR
        ${source}
        made
      )
      if(source MATCHES "\\.cpp$" AND NOT made)
        string(MAKE_C_IDENTIFIER "${folder} ${source}" key)
        set_property(
          GLOBAL
          APPEND
          PROPERTY
            divvy_unity_${key}
              ${target}
        )
        list(APPEND files "${folder};${source}")
        set(key_of_${key} "${folder}|${source}")
        list(APPEND keys ${key})
      endif()
    endforeach()
    set_target_properties(
      ${target}
      PROPERTIES
        UNITY_BUILD
          ON
        UNITY_BUILD_MODE
          GROUP
    )
    # GCC takes every included file for a header.
    target_compile_options(
      ${target}
      PRIVATE
        $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
    )
  endforeach()
  list(REMOVE_DUPLICATES keys)
  set(text "")
  foreach(key ${keys})
    get_property(of GLOBAL PROPERTY divvy_unity_${key})
    list(REMOVE_DUPLICATES of)
    list(JOIN of "," of)
    string(
      REPLACE "|"
      ";"
      place
      "${key_of_${key}}"
    )
    list(GET place 0 folder)
    list(GET place 1 source)
    string(APPEND text "${folder};${of};${source}\n")
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/unity.sources "${text}")
  execute_process(
    COMMAND
      ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/cmake/unity.py ${CMAKE_BINARY_DIR}/unity.sources
      ${CMAKE_BINARY_DIR}/unity.cmake
    COMMAND_ERROR_IS_FATAL ANY
  )
  include(${CMAKE_BINARY_DIR}/unity.cmake)
endfunction()
