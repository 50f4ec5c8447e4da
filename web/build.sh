#!/usr/bin/env bash
# Runs a script of package.json on a copy of the sources, as Bazel's actions do.
# Usage: build.sh PACKAGES.txt SCHEMA.json SCRIPT OUTPUT_FOLDER SOURCE...
# PACKAGES.txt names Node.js and the folder of the installed packages.
set -euo pipefail
{ read -r node; read -r packages; } < "$1"
schema=$2 script=$3 output=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in "$@"; do
  mkdir -p "$work/$(dirname "${source#*web/}")"
  cp -L "$source" "$work/${source#*web/}"
done
cp -L "$schema" "$work/schema.json"
# A folder in which tools can keep files beside the packages.
mkdir "$work/node_modules"
ln -s "$packages"/* "$work/node_modules"
[ "$output" = - ] || output=$(realpath -m "$output")
cd "$work"
export HOME=$work
run() { "$node" "node_modules/$@"; }
run json-schema-to-typescript/dist/src/cli.js -i schema.json -o src/messages.ts --no-additionalProperties
case $script in
  build)
    run vite/bin/vite.js build --logLevel warn
    run vite/bin/vite.js build --logLevel warn --config vite.offline.config.ts
    mkdir -p "$output"; cp -r dist/. "$output"
    ;;
  test)
    run @biomejs/biome/bin/biome check .
    run typescript/bin/tsc --noEmit
    run vitest/vitest.mjs run
    ;;
esac
