"""A program, and an ``opt`` whose passes go wrong in known ways."""

import pytest

from compiler_gym.util import llvm_tools

# Passes that real ones are run besides. Each goes wrong with programs that have a certain text,
# which is not taken away.
_OPT = r"""#!/bin/bash
if [ "$1" = --print-passes ]; then
  printf 'Module passes:\n  globaldce\n  view-callgraph\n'
  printf 'Function passes:\n  adce\n  dse\n  mem2reg\n  reassociate\n'
  printf '  breaking\n  crashing\n  guzzling\n  hanging\n  miscompiling\n  refusing\n  wavering\n'
  printf 'Function passes with params:\n  gvn<no-pre;pre>\n  unrolling<count=N>\n'
  printf 'Function analyses:\n  domtree\n'
  exit
fi
for word; do
  case $word in
    -passes=*) passes=${word#-passes=} ;;
    *.bc|*.ll|/dev/stdin) [ "$last" = -o ] || input=$word ;;
  esac
  if [ "$last" = -o ]; then output=$word; fi
  last=$word
done
if [ "$last" = - ]; then
  # Whether passes can be run at all.
  case $passes in
    *refusing*) echo 'opt: this does not work' >&2; exit 1 ;;
    *crashing*) echo 'Stack dump:' >&2; exit 139 ;;
  esac
fi
has() { # PASS TEXT
  case $passes in *"($1)"*) grep -q -a "$2" "$input" ;; *) false ;; esac
}
if has crashing victim; then
  {
    echo 'Stack dump:'
    echo '0.	Program arguments: opt'
    echo '1.	Running pass "function(crashing)" on module "input"'
    echo '2.	Running pass "crashing" on function "victim"'
    echo ' #0 0x00007f614ccb8786 llvm::sys::PrintStackTrace(llvm::raw_ostream&) (/lib/x.so+0x1)'
    echo ' #1 0x00007f6147c5a050 (/lib/libc.so.6+0x3c050)'
    echo ' #2 0x00007f614db5f092 llvm::CrashingPass::run(llvm::Function&) (/lib/x.so+0x2)'
  } >&2
  exit 139
fi
if has breaking victim; then
  {
    echo 'Instruction does not dominate all uses!'
    echo '  %3 = add i32 %1, %2'
    echo 'LLVM ERROR: Broken function found after pass "BreakingPass", compilation aborted!'
    echo '1.	Running pass "breaking" on function "victim"'
  } >&2
  exit 134
fi
if has guzzling victim; then
  echo 'LLVM ERROR: out of memory' >&2
  exit 134
fi
if has hanging victim; then
  while :; do :; done
fi
if has refusing .; then
  echo 'opt: this does not work' >&2
  exit 1
fi
# What is left is done by the real one.
ours='breaking|crashing|guzzling|hanging|miscompiling|refusing|wavering'
real=$(echo "$passes" | sed -E "s/function\(($ours)\)/verify/g")
if has miscompiling victim || has wavering victim; then
  '{opt}' -passes="$real" "$input" -S -o "$output.ll" || exit 1
  case $passes in
    *miscompiling*) sed -i 's/, 4711/, 4712/' "$output.ll" ;;
    *) sed -i "s/\(@stamp =.* global i32\) [0-9]*/\1 $$/" "$output.ll" ;;
  esac
  exec '{opt}' "$output.ll" -o "$output"
fi
exec '{opt}' "${@/#-passes=*/-passes=$real}"
"""

_PROGRAM = """
#include <stdio.h>
int stamp = 0;
__attribute__((noinline)) int victim(int n) { return n + 4711; }
int main(int argc, char** argv) {
  printf("%d\\n", victim(argc));
  return 0;
}
"""


_MODULE = """
define i32 @helper(i32 %n) {
  ret i32 %n
}

define i32 @victim(i32 %n) {
  %sum = add i32 %n, 4711
  ret i32 %sum
}
"""


@pytest.fixture(name="module_ll")
def fixture_module_ll(tmp_path):
    """A module that cannot be run."""
    path = tmp_path / "module.ll"
    path.write_text(_MODULE)
    return path


@pytest.fixture(name="fake_opt")
def fixture_fake_opt(tmp_path):
    path = tmp_path / "opt"
    path.write_text(_OPT.replace("{opt}", str(llvm_tools.opt_path())))
    path.chmod(0o755)
    return path


@pytest.fixture(name="program_c")
def fixture_program_c(tmp_path):
    path = tmp_path / "program.c"
    path.write_text(_PROGRAM)
    return path
