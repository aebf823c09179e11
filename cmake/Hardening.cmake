# What keeps a fault in our own code from becoming a way in. Applied to every target of src/ and of abi/, and to what else is
# shipped, in one place: divvy_harden_all(). tests/package/hardening_test.py holds it over everything that is installed.
#
# There are two profiles:
#   daemon  all but the next one. A check that fails ends the process, which its DaemonSet or systemd starts again.
#   guest   the interposer's targets and the libraries that these link. They run in processes of others: a check that aborts
#           would end the tenant's process (src/interposer/README.md), and `__stack_chk_fail` and `__*_chk` do nothing
#           else. So none of these are imported, even where a distribution's compiler would do that by default. What costs
#           the process nothing is kept: relro, binding at load, no executable stack, marks for the processor's own checks.
#
# A process that the loader started with a shadow stack loses it to one library without that mark, so the guests have it.
# The linker is told to set it: of libc_nonshared.a, pthread_atfork lacks it, and is only called directly. Debian 12's
# start files and C++ runtime lack it: programs and the simulated driver have the instructions, and no mark.
#
# Compiled code is hardened in optimised builds only: FORTIFY needs the optimiser, and sanitizers look for the same
# faults themselves. Linking is the same in each preset.
set(hardened ON)
if(DIVVY_SANITIZE OR DIVVY_FUZZ OR NOT CMAKE_BUILD_TYPE MATCHES "Rel")
  set(hardened OFF)
endif()
option(
  DIVVY_HARDENED
  "Compile what is shipped with checks of the stack, of buffers and of containers"
  ${hardened}
)

set(DIVVY_FORTIFY 3)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  set(DIVVY_FORTIFY 2)
endif()
set(DIVVY_CONTROL_FLOW)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(DIVVY_CONTROL_FLOW -fcf-protection)
endif()

# divvy_harden(TARGET daemon|guest)
function(divvy_harden target profile)
  get_target_property(type ${target} TYPE)
  if(type MATCHES "INTERFACE_LIBRARY|UTILITY")
    return()
  endif()
  set(compiled "$<COMPILE_LANGUAGE:C,CXX>")
  if(DIVVY_HARDENED AND profile STREQUAL "guest")
    target_compile_options(
      ${target}
      PRIVATE
        ${DIVVY_CONTROL_FLOW}
        "$<${compiled}:-fno-stack-protector;-fstack-clash-protection;-U_FORTIFY_SOURCE>"
    )
  elseif(DIVVY_HARDENED)
    target_compile_options(
      ${target}
      PRIVATE
        ${DIVVY_CONTROL_FLOW}
        "$<${compiled}:-fstack-protector-strong;-fstack-clash-protection;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${DIVVY_FORTIFY}>"
        $<$<COMPILE_LANGUAGE:CXX>:-D_GLIBCXX_ASSERTIONS>
    )
  endif()
  if(type MATCHES "EXECUTABLE|MODULE_LIBRARY|SHARED_LIBRARY")
    target_link_options(
      ${target}
      PRIVATE
        LINKER:-z,relro
        LINKER:-z,now
        LINKER:-z,noexecstack
        LINKER:-z,text
    )
    if(type STREQUAL "EXECUTABLE")
      target_link_options(${target} PRIVATE -pie)
    elseif(DIVVY_HARDENED AND profile STREQUAL "guest" AND DIVVY_CONTROL_FLOW)
      target_link_options(
        ${target}
        PRIVATE
          LINKER:-z,ibt
          LINKER:-z,shstk
      )
    endif()
  endif()
endfunction()

# divvy_linked_by(TARGET OUT): the targets that it links, and those that these link.
function(divvy_linked_by target out)
  set(found)
  set(next ${target})
  while(next)
    list(POP_FRONT next one)
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(linked ${one} ${property})
      foreach(library ${linked})
        if(TARGET ${library} AND NOT library IN_LIST found)
          list(APPEND found ${library})
          list(APPEND next ${library})
        endif()
      endforeach()
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# To be called when every target is there.
function(divvy_harden_all)
  divvy_targets_of(${CMAKE_SOURCE_DIR}/src/interposer guests)
  foreach(target ${guests})
    divvy_linked_by(${target} linked)
    list(APPEND guests ${linked})
  endforeach()
  list(REMOVE_DUPLICATES guests)
  get_property(folders DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTY SUBDIRECTORIES)
  foreach(folder ${folders})
    file(
      RELATIVE_PATH
      name
      ${CMAKE_SOURCE_DIR}
      ${folder}
    )
    if(NOT name MATCHES "^(abi|src/.*)$")
      continue()
    endif()
    divvy_targets_of(${folder} targets)
    foreach(target ${targets})
      if(target IN_LIST guests)
        divvy_harden(${target} guest)
      else()
        divvy_harden(${target} daemon)
      endif()
    endforeach()
  endforeach()
  if(TARGET cluster_share_probe)
    divvy_harden(cluster_share_probe daemon)
  endif()
endfunction()
