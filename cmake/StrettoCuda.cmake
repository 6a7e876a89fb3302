# CUDA's compiler is looked for where CMake looks: CUDACXX, CUDA_PATH, PATH. STRETTO_HAS_CUDA: it is there and wanted; the target
# stretto_cuda has what its sources are compiled with.
set(STRETTO_HAS_CUDA OFF)
# 2810, 554: what nvcc says of [[nodiscard]] values in initialisers, and of a conversion that is none for views of constants.
# nvcc loses the dots of a pack in a call of __builtin_shufflevector; only kernels of the processor call it, which are none of its own.
set(stretto_cuda_options -std=c++20 --expt-relaxed-constexpr -diag-suppress=2810,554 -DFMT_USE_CONSTEXPR=1
    -D__builtin_shufflevector=shuffled_on_the_processor)
if(STRETTO_CUDA STREQUAL "auto")
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(STRETTO_CUDA STREQUAL "ON" OR (STRETTO_CUDA STREQUAL "auto" AND CMAKE_CUDA_COMPILER))
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)  # the last one also as PTX, for what comes after it
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  set(STRETTO_HAS_CUDA ON)
  # CMake before 3.26 does not know what C++20 is to nvcc 13.
  add_library(stretto_cuda INTERFACE)
  target_compile_options(stretto_cuda INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:${stretto_cuda_options}>")
  message(STATUS "devices: cuda (${CMAKE_CUDA_COMPILER}; ${CMAKE_CUDA_ARCHITECTURES}), emulated")
elseif(STRETTO_CUDA STREQUAL "OFF")
  message(STATUS "devices: emulated; STRETTO_CUDA=OFF: no cuda")
else()
  message(STATUS "devices: emulated; without nvcc no cuda (CUDACXX names it)")
endif()
