#!/usr/bin/env bash
# Installs what is missing and runs the tests. Arguments go to Bazel:
#   tools/test.sh --config=asan //tests/service/...
# With --all, runs the long forms of tests, and then all tests with each sanitizer: some hours.
# Ends with the slowest targets, the failures, and a line "N passed, N failed" that counts test
# functions.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash tools/setup.sh || exit 1

configs=(default)
options=()
targets=()
for argument in "$@"; do
  case $argument in
    --all) configs=(long asan ubsan tsan) ;;
    //* | :*) targets+=("$argument") ;;
    *) options+=("$argument") ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || targets=(//...)

events=$(mktemp -d)
trap 'rm -rf "$events"' EXIT
status=0
for config in "${configs[@]}"; do
  [ "$config" = default ] || options+=("--config=$config")
  bazel test --keep_going --build_event_json_file="$events/$config.json" "${options[@]}" "${targets[@]}" || status=$?
  [ "$config" = default ] || unset 'options[-1]'
done
.venv/bin/python3 tools/summarise_tests.py "$events"/*.json || status=1
exit $status
