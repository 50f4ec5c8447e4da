#!/usr/bin/env bash
# Installs what is missing, builds, and searches for about a minute for pass sequences that make
# programs smaller than -Oz does. Arguments go to the search: tools/demo.sh --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash tools/setup.sh
printf '\033[1m%s\033[0m\n' "demo: building the compiler service (first time: some minutes)"
bazel build //compiler_gym/cli:compiler-gym
exec bazel-bin/compiler_gym/cli/compiler-gym search "$@"
