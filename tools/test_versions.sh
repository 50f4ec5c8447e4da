#!/usr/bin/env bash
# Tests the wheel with the lowest versions of the libraries that pyproject.toml states, and with the
# highest that there are, each in a virtual environment of its own. Needs the network.
# Ends with a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The oldest and the newest Python that is there and that the package works with.
python_of() {
  local version
  for version in "$@"; do
    "python$version" -c '' 2>/dev/null && echo "python$version" && return
  done
  echo python3
}

lowest_versions() {
  sed -n '/^dependencies = /,/^]/s/^ *"\(.*\)>=\(.*\)",$/\1==\2/p' pyproject.toml
}

bazel build //:wheel
wheel=$PWD/$(echo bazel-bin/compiler_gym-*.whl)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Arguments: a name, a Python, and what pip is to install besides the wheel.
run() {
  local name=$1 python=$2 venv=$folder/$1
  shift 2
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    "$wheel" pytest pytest-timeout "$@"
  echo "== $name versions, $("$venv/bin/python" --version)"
  "$venv/bin/python" -m pip freeze --disable-pip-version-check | grep -v compiler_gym | paste -sd ' '
  # From elsewhere, so that the package is the one of the wheel.
  cp tests/public_api_test.py "$venv"
  (cd "$venv" && bin/python -m pytest -q --junitxml="$folder/$name.xml" public_api_test.py) || true
}

mapfile -t lowest < <(lowest_versions)
run lowest "$(python_of 3.10 3.11 3.12 3.13 3.14)" "${lowest[@]}"
run highest "$(python_of 3.14 3.13 3.12 3.11 3.10)"

.venv/bin/python3 - "$folder"/{lowest,highest}.xml <<'PYTHON'
import sys
import xml.etree.ElementTree as ElementTree

passed = failed = 0
for path in sys.argv[1:]:
    (suite,) = ElementTree.parse(path).getroot()
    bad = int(suite.get("failures")) + int(suite.get("errors"))
    failed += bad
    passed += int(suite.get("tests")) - bad - int(suite.get("skipped"))
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0 or passed == 0)
PYTHON
