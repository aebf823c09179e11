# Fuzz targets (./dev fuzz) and the tests that replay their seeds.
set(DIVVY_FUZZ_SANITIZERS address,undefined)

# divvy_modules_of(OUT TARGET): sets OUT to the modules (without `divvy_`) that TARGET links, itself first, each once. The
# list comes from the targets themselves: a module that gets a new dependency needs no change here.
function(divvy_modules_of out target)
  set(found ${target})
  set(next ${target})
  while(next)
    list(POP_FRONT next module)
    get_target_property(links ${module} INTERFACE_LINK_LIBRARIES)
    foreach(link ${links})
      if(link MATCHES "^divvy_" AND TARGET ${link} AND NOT link IN_LIST found)
        list(APPEND found ${link})
        list(APPEND next ${link})
      endif()
    endforeach()
  endwhile()
  list(
    TRANSFORM found
    REPLACE
      "^divvy_"
      ""
  )
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# divvy_include_modules_of(TARGET OTHER): TARGET may include the public headers of OTHER, and of all modules that it links.
function(divvy_include_modules_of target other)
  divvy_modules_of(modules ${other})
  foreach(module ${modules})
    get_target_property(folder divvy_${module} SOURCE_DIR)
    target_include_directories(${target} PUBLIC ${folder}/include)
  endforeach()
endfunction()

# divvy_compile_again(TARGET SCOPE MODULE...): compiles the sources of the modules into TARGET, so that a fuzzer sees every
# branch of them. SCOPE is of their include folders, public and private. A source that the build generates needs
# add_dependencies() besides.
function(divvy_compile_again target scope)
  foreach(module ${ARGN})
    get_target_property(folder divvy_${module} SOURCE_DIR)
    target_include_directories(
      ${target}
      ${scope}
      ${folder}/include
    )
    get_target_property(kind divvy_${module} TYPE)
    # Asio's one translation unit is for targets that are compiled without its functions: these have them inline.
    if(kind STREQUAL "INTERFACE_LIBRARY" OR module STREQUAL "asio")
      continue()
    endif()
    target_include_directories(
      ${target}
      ${scope}
      ${folder}
    )
    get_target_property(sources divvy_${module} SOURCES)
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      target_sources(${target} PRIVATE ${source})
    endforeach()
  endforeach()
endfunction()

# divvy_fuzz_target(NAME [SOURCES ...] [DEPS ...] [FUZZED ...] [INCLUDE ...])
#
# NAME.cpp defines LLVMFuzzerTestOneInput(); SOURCES are compiled beside it. The unit test NAME_replay passes each seed
# (corpus/NAME) to that function, without the fuzzer, and links DEPS. The fuzzer links FUZZED instead: the same code
# compiled with coverage. INCLUDE names folders of private headers.
function(divvy_fuzz_target name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;FUZZED;INCLUDE" ${ARGN})
  divvy_test(
    ${name}_replay
    SOURCES
      ${ARG_SOURCES}
      ${CMAKE_SOURCE_DIR}/tests/corpus_folder.cpp
      ${name}.cpp
    DEPS
      corpus_replay
      ${ARG_DEPS}
  )
  target_include_directories(
    ${name}_replay
    PRIVATE
      ${CMAKE_SOURCE_DIR}/tests
      ${ARG_INCLUDE}
  )
  target_compile_definitions(
    ${name}_replay
    PRIVATE
      DIVVY_CORPUS="${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name}"
  )
  if(NOT DIVVY_FUZZ)
    return()
  endif()
  add_executable(
    ${name}
    ${name}.cpp
    ${ARG_SOURCES}
  )
  target_include_directories(
    ${name}
    PRIVATE
      ${CMAKE_SOURCE_DIR}/tests
      ${ARG_INCLUDE}
  )
  target_link_libraries(${name} PRIVATE ${ARG_FUZZED})
  target_compile_options(
    ${name}
    PRIVATE
      -fsanitize=fuzzer,${DIVVY_FUZZ_SANITIZERS}
      -fno-sanitize-recover=all
  )
  # GNU ld needs 10 s for one of them, mold 2 s.
  target_link_options(
    ${name}
    PRIVATE
      -fsanitize=fuzzer,${DIVVY_FUZZ_SANITIZERS}
      $<$<BOOL:${DIVVY_MOLD}>:-fuse-ld=mold>
  )
  set_target_properties(
    ${name}
    PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY
        ${CMAKE_BINARY_DIR}/fuzz
  )
  if(NOT TARGET divvy_fuzzers)
    add_custom_target(divvy_fuzzers)
  endif()
  add_dependencies(divvy_fuzzers ${name})
endfunction()
