# GNU Make: a fragment. It makes object files of -Os and -Oz smaller.
#
#   printf '\ninclude compiler_gym.mk\n' >> Makefile
#   COMPILER_GYM_LEVEL=-Oz make -B
#
# If the makefile has another name, such as "makefile", add the line there. Include it after the
# lines that set CC and CXX, and before lines that use them with ":=". Make does not notice another
# compiler, so the first build needs -B. Makefiles in other folders that set CC themselves need their
# own line, or CC=compiler-gym-cc on the command line of make.
ifeq ($(shell command -v compiler-gym-cc 2>/dev/null),)
$(error compiler-gym-cc is not on the PATH: activate the environment with compiler_gym)
endif
CC := compiler-gym-cc
CXX := compiler-gym-c++
export CC CXX
