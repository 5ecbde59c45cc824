# What every target of ours is compiled with.
add_library(cdc_options INTERFACE)
target_compile_options(cdc_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror=switch)
target_include_directories(cdc_options INTERFACE ${PROJECT_SOURCE_DIR})
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # Assertions of the pure layers stay on: they cost nothing beside I/O.
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
endif()
if(CDC_SANITIZE)
  add_compile_options(-fsanitize=${CDC_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CDC_SANITIZE})
endif()
if(CDC_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
find_program(MOLD mold)
if(MOLD AND CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_link_options(-fuse-ld=mold)
endif()

# cdc_layer(<folder> [CAF] [USES <folder>...] [LINKS <library>...])
#
# Adds the library cdc_<folder> of every .cpp below the folder. A folder may use only folders added
# before it, so there can be no cycle, and the test layering.<folder> fails on any #include that
# USES does not name, by file and line.
function(cdc_layer folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CAF" "" "USES;LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(sources)
    add_library(cdc_${folder} STATIC ${sources})
    set(reach PUBLIC)
  else()
    add_library(cdc_${folder} INTERFACE)
    set(reach INTERFACE)
  endif()
  target_link_libraries(cdc_${folder} ${reach} cdc_options ${arg_LINKS})
  foreach(used IN LISTS arg_USES)
    if(NOT TARGET cdc_${used})
      message(FATAL_ERROR "${folder}/ cannot use ${used}/: it is not a lower layer")
    endif()
    target_link_libraries(cdc_${folder} ${reach} cdc_${used})
  endforeach()
  if(arg_CAF)
    target_link_libraries(cdc_${folder} ${reach} caf::core caf::io)
  endif()
  if(BUILD_TESTING)
    add_test(NAME layering.${folder}
             COMMAND ${CMAKE_COMMAND} "-DFOLDER=${folder}" "-DUSES=${arg_USES}" "-DCAF=${arg_CAF}"
                     -P ${PROJECT_SOURCE_DIR}/tests/checks/layering.cmake
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(layering.${folder} PROPERTIES TIMEOUT 30)
  endif()
endfunction()
