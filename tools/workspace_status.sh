#!/usr/bin/env bash
# Tells Bazel in which state the source tree is: the source archive is made again when it changes.
commit=$(git rev-parse HEAD 2>/dev/null) || exit 0
echo "STABLE_SOURCES $commit-$(git diff HEAD --no-ext-diff | sha256sum | cut -c 1-16)"
