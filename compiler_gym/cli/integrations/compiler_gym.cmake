# CMake: a toolchain file. It makes object files of -Os and -Oz smaller.
#
#   cmake -B build --toolchain compiler_gym.cmake -DCMAKE_BUILD_TYPE=MinSizeRel
#   cmake --build build
#
# CMake looks for the compilers on the PATH when it configures a new build folder, and keeps their
# paths. If the project has a toolchain file, end it with the line
# include(${CMAKE_CURRENT_LIST_DIR}/compiler_gym.cmake)
# A target is set there, too: set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu).
set(CMAKE_C_COMPILER compiler-gym-cc)
set(CMAKE_CXX_COMPILER compiler-gym-c++)
