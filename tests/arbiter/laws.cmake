find_package(rapidcheck REQUIRED)

# Virtual time around the real law, in one thread.
add_library(
  divvy_arbiter_world
  STATIC
  world/card.cpp
  world/memory.cpp
  world/process.cpp
  world/programs.cpp
  world/record.cpp
  world/world.cpp
)
target_compile_options(divvy_arbiter_world PRIVATE ${DIVVY_WARNINGS})
target_include_directories(divvy_arbiter_world PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(divvy_arbiter_world PUBLIC divvy_arbiter_laws)

divvy_test(
  arbiter_policy_test
  SOURCES
    policy/meter_test.cpp
    policy/policy_test.cpp
  DEPS
    divvy_arbiter_laws
  SANITIZE asan
)
target_include_directories(arbiter_policy_test PRIVATE ${CMAKE_SOURCE_DIR}/src/arbiter)
# Minutes of virtual time: too much for the sanitizers, which see the same code in the gangs' test.
divvy_test(
  arbiter_share_test
  OPTIMIZED
  SOURCES
    share_test.cpp
  DEPS
    divvy_arbiter_world
    rapidcheck
    rapidcheck_gtest
  TIMEOUT 240
  KIND property
)
divvy_test(
  arbiter_priority_test
  OPTIMIZED
  SOURCES
    priority_test.cpp
  DEPS
    divvy_arbiter_world
  TIMEOUT 240
)
divvy_test(
  arbiter_cap_test
  OPTIMIZED
  SOURCES
    cap_test.cpp
    tenants_test.cpp
  DEPS
    divvy_arbiter_world
  TIMEOUT 240
)
divvy_test(
  arbiter_gang_test
  OPTIMIZED
  SOURCES
    gang_test.cpp
  DEPS
    divvy_arbiter_world
    rapidcheck
    rapidcheck_gtest
  KIND property
  SANITIZE asan
  TIMEOUT 240
)
divvy_test(
  arbiter_residency_test
  OPTIMIZED
  SOURCES
    host_map_test.cpp
    policy/parking_test.cpp
    policy/residency_order_test.cpp
    policy/residency_test.cpp
    policy/swap_cost_test.cpp
  DEPS
    divvy_arbiter_world
  SANITIZE asan
  TIMEOUT 240
)
target_include_directories(arbiter_residency_test PRIVATE ${CMAKE_SOURCE_DIR}/src/arbiter)
