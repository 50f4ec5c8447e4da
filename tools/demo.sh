#!/usr/bin/env bash
# Installs what is missing, builds, and searches for two minutes: for object files of some C programs
# that are smaller than those of clang -Oz, and for passes that leave fewer instructions than -Oz does.
# Arguments go to the second search: tools/demo.sh --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/progress.sh

bash tools/setup.sh --program
with_progress "demo: building the compiler service (first time: some minutes)" \
  bazel build --curses=no --color=no --show_progress_rate_limit=1 //compiler_gym/cli:compiler-gym
compiler_gym=bazel-bin/compiler_gym/cli/compiler-gym
if [ $# = 0 ]; then
  "$compiler_gym" optimize sha256 json regex huffman fft containers --evaluations 40 -o optimised/objects
  echo
fi
exec "$compiler_gym" search "$@"
