# Helpers shared by every layer: one library a layer, one test program a file.

include(CheckLanguage)

# Flags for all our own targets.
add_library(warpfold_flags INTERFACE)
target_compile_options(warpfold_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers>)
if(WARPFOLD_SANITIZE)
  add_compile_options(-fsanitize=${WARPFOLD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WARPFOLD_SANITIZE})
endif()
if(WARPFOLD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# CUDA is optional: AUTO compiles it where nvcc is found.
macro(warpfold_find_cuda)
  set(WARPFOLD_HAS_CUDA OFF)
  if(NOT WARPFOLD_CUDA STREQUAL "OFF")
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_ARCHITECTURES OFF)
      enable_language(CUDA)
      set(CMAKE_CUDA_STANDARD 20)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake 3.25 does not know it
      set(WARPFOLD_HAS_CUDA ON)
      message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, building for sm_90a")
    elseif(WARPFOLD_CUDA STREQUAL "ON")
      message(FATAL_ERROR "WARPFOLD_CUDA=ON, but nvcc was not found")
    endif()
  endif()
  if(NOT WARPFOLD_HAS_CUDA)
    message(STATUS "CUDA: nvcc not found or switched off; this is a CPU-only build")
  endif()
endmacro()

# warpfold_layer(NAME SOURCES a.cpp ... [DEPS targets] [PRIVATE_DEPS targets])
# A static library warpfold_NAME (alias warpfold::NAME); without sources it is header-only.
function(warpfold_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(warpfold_${name} STATIC ${ARG_SOURCES})
    target_include_directories(warpfold_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(warpfold_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} warpfold_flags)
  else()
    add_library(warpfold_${name} INTERFACE)
    target_include_directories(warpfold_${name} INTERFACE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(warpfold_${name} INTERFACE ${ARG_DEPS})
  endif()
  add_library(warpfold::${name} ALIAS warpfold_${name})
endfunction()

# warpfold_cuda(TARGET [MAY_SPILL]): compiles the target's .cu files for Hopper. Unless it MAY_SPILL, spills are errors, and so
# are serialised WGMMAs (scripts/nvcc_checked.sh).
function(warpfold_cuda target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -gencode=arch=compute_90a,code=sm_90a>)
  if("MAY_SPILL" IN_LIST ARGN)
    set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${CCACHE}")
  else()
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas --warning-as-error,--warn-on-spills,--warn-on-local-memory-usage>)
  endif()
  add_dependencies(${target} wgmma_headers)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()

# warpfold_test(NAME SOURCES a.cpp ... DEPS targets [LABELS l])
function(warpfold_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} warpfold_flags GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE WARPFOLD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()

# warpfold_skipped_test(NAME REASON): a test that cannot be built here; ctest lists it as skipped.
function(warpfold_skipped_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

# warpfold_fuzz(NAME SOURCES a.cpp DEPS targets): a libFuzzer program, built only with WARPFOLD_FUZZ.
# Its seeds lie in tests/fuzz/corpus/NAME; `make test` runs each for 30 s.
function(warpfold_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT WARPFOLD_FUZZ)
    return()
  endif()
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_DEPS} warpfold_flags)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzz_targets)
    add_custom_target(fuzz_targets)
  endif()
  add_dependencies(fuzz_targets fuzz_${name})
  add_test(NAME fuzz_${name}
    COMMAND fuzz_${name} -max_total_time=30 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
            ${CMAKE_CURRENT_BINARY_DIR}/corpus_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/corpus_${name})
  set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzz)
endfunction()
