#!/usr/bin/env bash
# Checks the format and style of all sources; with --fix, mends what can be mended.
set -uo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

case "${1:-}" in
  "") ruff_check=() ruff_format=(--check) clang_format=(--dry-run --Werror) ;;
  --fix) ruff_check=(--fix) ruff_format=() clang_format=(-i) ;;
  *) echo "usage: tools/lint.sh [--fix]" >&2; exit 2 ;;
esac

mapfile -t cpp < <(find benchmarks compiler_gym examples llvm_service mlir_service tests -name '*.cc' -o -name '*.h')
status=0
.venv/bin/ruff check --quiet "${ruff_check[@]}" . || status=1
.venv/bin/ruff format --quiet "${ruff_format[@]}" . || status=1
clang-format-22 "${clang_format[@]}" "${cpp[@]}" || status=1
.venv/bin/python tools/check_prose.py || status=1
for script in tools/*.sh .ci/run; do bash -n "$script" || status=1; done
[ $status = 0 ] && echo "lint: clean" || echo "lint: problems found; tools/lint.sh --fix mends most of them" >&2
exit $status
