#!/usr/bin/env bash
# Runs those trainers of examples/ briefly whose libraries are too large for tools/test.sh: installs
# what is missing, some four gigabytes the first time, in the virtual environments .venv-learning
# and .venv-verifiers.
# Arguments go to pytest. Ends with a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash tools/setup.sh
bazel build //:wheel
wheel=$(readlink -f bazel-bin/compiler_gym-*.whl)
environment=.venv-learning
for name in learning verifiers; do
  requirements=third_party/${name}_requirements.txt
  folder=.venv-$name
  cmp -s "$requirements" "$folder/requirements.txt" && continue
  [ -x "$folder/bin/python3" ] || python3 -m venv "$folder"
  "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$folder/requirements.txt"
done
# The version does not tell whether it is the same wheel.
"$environment/bin/python3" -m pip uninstall --quiet --yes compiler_gym
"$environment/bin/python3" -m pip install --quiet --disable-pip-version-check "$wheel"

# Ray leaves files in the home directory.
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
status=0
HOME=$home VERIFIERS_PROGRAMS=.venv-verifiers/bin "$environment/bin/pytest" \
  --import-mode=importlib -p no:cacheprovider --timeout=900 \
  --junitxml="$home/results.xml" tests/examples/library_trainers_test.py \
  tests/examples/verifiers_test.py "$@" || status=$?
.venv/bin/python3 tools/summarise_tests.py "$home/results.xml" || status=1
exit $status
