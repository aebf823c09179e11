# Precompiled headers for the preset that one edits in: what is heavy and stable is parsed once per target. Presets that
# compile files together have no use for them, and the compiler cache would keep less.
option(DIVVY_PRECOMPILED "Precompile heavy headers of other projects" OFF)

# divvy_precompiled(HEADERS <a> <b>... TARGETS ...): of the targets that exist.
function(divvy_precompiled)
  cmake_parse_arguments(ARG "" "" "HEADERS;TARGETS" ${ARGN})
  foreach(target ${ARG_TARGETS})
    if(DIVVY_PRECOMPILED AND TARGET ${target})
      target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
    endif()
  endforeach()
endfunction()

# To be called when every target is there. A target of fewer than about ten files gains less than its header costs.
function(divvy_precompile)
  set(
    network
    <boost/asio/any_io_executor.hpp>
    <boost/asio/as_tuple.hpp>
    <boost/asio/awaitable.hpp>
    <boost/asio/co_spawn.hpp>
    <boost/asio/steady_timer.hpp>
    <boost/asio/use_awaitable.hpp>
    <boost/json.hpp>
    <chrono>
    <functional>
    <map>
    <memory>
    <optional>
    <string>
    <vector>
  )
  divvy_precompiled(
    HEADERS
      ${network}
    TARGETS
      divvy_kube
      divvy_scheduler
      divvy_agent
      divvy_cli
  )
  divvy_precompiled(
    HEADERS
      ${network}
      <gtest/gtest.h>
    TARGETS
      scheduler_test
      scheduler_property_test
      agent_unit_test
      kube_test
  )
  divvy_precompiled(
    HEADERS
      <boost/json.hpp>
      <gtest/gtest.h>
      <string>
      <vector>
    TARGETS
      cli_text_test
      engine_test
  )
endfunction()
