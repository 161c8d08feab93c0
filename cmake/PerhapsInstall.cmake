# Headers, libraries, the tool, manual pages, pkg-config files and the CMake package. Shell completions are printed by the
# tool and installed beside where it is built, in cli/CMakeLists.txt.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/perhaps")
set(libraries perhaps perhaps_static)
set(headers include/perhaps/perhaps.h)
set(pc_files perhaps.pc)
if(PERHAPS_BUILD_GUARD)
  list(APPEND libraries perhaps_guard perhaps_guard_static)
  list(APPEND headers include/perhaps/guard.h)
  list(APPEND pc_files perhaps-guard.pc)
endif()

install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/perhaps")
install(TARGETS ${libraries} EXPORT perhapsTargets)
if(PERHAPS_BUILD_CLI)
  install(TARGETS perhaps_cli)
endif()

set(PERHAPS_PC_SODIUM "")
if(PERHAPS_KEYED)
  set(PERHAPS_PC_SODIUM " -lsodium")
endif()
foreach(pc IN LISTS pc_files)
  configure_file("cmake/${pc}.in" "${PROJECT_BINARY_DIR}/${pc}" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${pc}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

configure_package_config_file(cmake/perhapsConfig.cmake.in perhapsConfig.cmake
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(perhapsConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/perhapsConfig.cmake" "${PROJECT_BINARY_DIR}/perhapsConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(EXPORT perhapsTargets NAMESPACE perhaps:: DESTINATION "${package_dir}")

foreach(section IN ITEMS 1 3 5)
  # OPTIONAL: the install does not fail while there are no pages.
  install(DIRECTORY docs/man/ DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}" OPTIONAL
    FILES_MATCHING PATTERN "*.${section}")
endforeach()
