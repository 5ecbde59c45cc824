# Fails when a file of FOLDER includes a folder that its CMakeLists.txt does not list under USES, or
# a library that belongs elsewhere: each line of `homes` is a header pattern and the only paths that
# may include it.
cmake_minimum_required(VERSION 3.25)

set(homes
  "^<caf/" "^(actors|supervision|cli)/|^messages/type_ids\\.hpp$"
  "libpq" "^(sources|sinks)/postgres/"
  "mysql\\.h|mariadb" "^(sources|sinks)/mysql/"
  "toml\\+\\+" "^config/"
  "^<spdlog/" "^actors/log\\.cpp$"
  "sqlite3" "^sinks/sqlite/"
  "^<boost/" "^actors/http/|^sinks/http/"
  "^<openssl/" "^sinks/(http|search)/|^sources/postgres/"
  "^<zlib" "^(sinks/http|sources/mysql)/"
  "^<simdjson" "^sinks/search/"
  "^<CLI/" "^cli/")

file(GLOB_RECURSE files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${FOLDER}/*.hpp ${FOLDER}/*.cpp)
set(allowed ${FOLDER} ${USES})
set(mistakes "")
foreach(file IN LISTS files)
  file(STRINGS ${file} includes REGEX "^#include")
  foreach(line IN LISTS includes)
    if(line MATCHES "^#include \"([a-z_]+)/" AND NOT CMAKE_MATCH_1 IN_LIST allowed)
      string(APPEND mistakes "\n  ${file}: ${line}")
    endif()
    string(REGEX REPLACE "^#include +" "" header "${line}")
    set(rest ${homes})
    while(rest)
      list(POP_FRONT rest pattern place)
      if(header MATCHES "${pattern}" AND NOT file MATCHES "${place}")
        string(APPEND mistakes "\n  ${file}: ${line} belongs in ${place}")
      endif()
    endwhile()
  endforeach()
endforeach()
if(mistakes)
  message(FATAL_ERROR "${FOLDER}/ may include only ${allowed}:${mistakes}")
endif()
