#!/usr/bin/env bash
# Installs what is missing and runs all tests. Arguments go to Bazel:
#   tools/test.sh --config=asan //tests/service/...
# Ends with a line "N passed, N failed" that counts test functions.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash tools/setup.sh || exit 1

targets=()
for argument in "$@"; do
  case $argument in //* | :*) targets+=("$argument") ;; esac
done
[ ${#targets[@]} -gt 0 ] || set -- "$@" //...

events=$(mktemp)
trap 'rm -f "$events"' EXIT
bazel test --keep_going --build_event_json_file="$events" "$@"
status=$?
.venv/bin/python3 tools/summarise_tests.py "$events" || status=1
exit $status
