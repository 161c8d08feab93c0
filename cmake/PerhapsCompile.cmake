# perhaps_compile: the flags of everything that this project compiles and links itself. They are PRIVATE to
# its targets; nothing here reaches a program that uses the installed library.
#
# Nothing may depend on the build machine's own CPU (no -march=native): one build runs everywhere, and code
# for newer CPUs is chosen when the program runs.
add_library(perhaps_compile INTERFACE)
target_include_directories(perhaps_compile INTERFACE "${PROJECT_SOURCE_DIR}/include")

set(gcc "$<C_COMPILER_ID:GNU>")
set(optimised "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
if(PERHAPS_SANITIZE)
  set(optimised 0) # neither fortified nor searched for NULL
endif()

# Without -Wpedantic: it rejects unsigned __int128, which multiply-high needs.
target_compile_options(perhaps_compile INTERFACE
  -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Wstrict-prototypes
  -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-align -Wcast-qual -Wwrite-strings
  -Wformat=2 -Wundef -Wvla -Wdouble-promotion
  $<$<AND:${gcc},${optimised}>:-Wnull-dereference>
  $<$<BOOL:${PERHAPS_WERROR}>:-Werror>)

# Sizing must give the same bytes on every machine: no fused multiply-add, no x87 registers.
target_compile_options(perhaps_compile INTERFACE -ffp-contract=off)
if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(i.86|x86_64)$")
  target_compile_options(perhaps_compile INTERFACE -msse2 -mfpmath=sse)
endif()

target_compile_definitions(perhaps_compile INTERFACE
  _FILE_OFFSET_BITS=64
  $<$<BOOL:${PERHAPS_KEYED}>:PERHAPS_KEYED=1>
  $<$<BOOL:${PERHAPS_TEST_SUPPORT}>:PERHAPS_TEST_SUPPORT=1>)

# -U first: some distributions predefine another level.
target_compile_options(perhaps_compile INTERFACE
  -fstack-protector-strong -fstack-clash-protection
  $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=2>)
target_link_options(perhaps_compile INTERFACE -Wl,-z,relro,-z,now)

# A library's own calls go straight to its own functions.
target_compile_options(perhaps_compile INTERFACE -fno-semantic-interposition)

if(PERHAPS_SANITIZE)
  set(level -O1)
  if(PERHAPS_SANITIZE MATCHES "fuzzer")
    set(level -O2) # a sixth (lines) to a half (decode) more executions than -O1
  endif()
  target_compile_options(perhaps_compile INTERFACE
    ${level} -g -fno-omit-frame-pointer -fsanitize=${PERHAPS_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(perhaps_compile INTERFACE -fsanitize=${PERHAPS_SANITIZE})
endif()
