#   perhaps_library(perhaps_guard
#     EXPORT guard                 perhaps::guard and perhaps::guard_static
#     SOURCES guard.c interval.c   compiled once, for both
#     USES perhaps                 other libraries made by this function
#     LINKS m)                     libraries that the static one needs; private to the shared one
#
# makes lib<name>.so (target <name>) and lib<name>.a (target <name>_static).
function(perhaps_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORT" "SOURCES;USES;LINKS")

  add_library(${name}_objects OBJECT ${arg_SOURCES})
  target_link_libraries(${name}_objects PRIVATE perhaps_compile ${arg_LINKS})

  add_library(${name} SHARED)
  add_library(${name}_static STATIC)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:perhaps_compile> ${arg_LINKS})
  target_link_libraries(${name}_static PRIVATE ${arg_LINKS})
  foreach(used IN LISTS arg_USES)
    target_link_libraries(${name} PUBLIC ${used})
    target_link_libraries(${name}_static PUBLIC ${used}_static)
  endforeach()

  foreach(target IN ITEMS ${name} ${name}_static)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}_objects>)
    target_include_directories(${target} INTERFACE
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
      "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C)
  endforeach()
  set_target_properties(${name} PROPERTIES
    EXPORT_NAME ${arg_EXPORT} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  set_target_properties(${name}_static PROPERTIES EXPORT_NAME ${arg_EXPORT}_static)

  add_library(perhaps::${arg_EXPORT} ALIAS ${name})
  add_library(perhaps::${arg_EXPORT}_static ALIAS ${name}_static)

  # The version script hides what a static archive drags in (the visibility of our own symbols is set in
  # the sources) and gives every export the version of the ABI.
  set(map "${CMAKE_CURRENT_BINARY_DIR}/${name}.map")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/exports.map.in" "${map}" @ONLY)
  target_link_options(${name} PRIVATE "-Wl,--version-script=${map}" -Wl,-Bsymbolic-functions)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${map}")
  if(NOT PERHAPS_SANITIZE) # clang leaves the sanitizer's symbols to the executable
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()
