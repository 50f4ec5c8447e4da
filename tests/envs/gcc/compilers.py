"""A compiler that does as it is told, in place of GCC."""

from pathlib import Path

GCC_12_OPTIMIZERS = """\
The following options control optimizations:
  -O<number>                  \t\t
  -Ofast                      \t\t
  -Os                         \t\t
  -falign-loops               \t\t[disabled]
  -falign-loops=              \t\t
  -fexceptions                \t\t[available in Modula-2]
  -fgcse                      \t\t[disabled]
  -fhandle-exceptions         \t\t-fexceptions
  -fira-region=[one|all|mixed] \t\tone
  -flifetime-dse=<0,2>        \t\t2
  -fpack-struct=<number>      \t\t
  -fstack-protector-all       \t\t[disabled]
  -fvanished                  \t\t[disabled]
"""
GCC_12_PARAMS = """\
The following options control parameters:
  --param=align-threshold=<1,65536> \t\t100
  --param=asan-stack=<0,1>    \t\t1
  --param=lazy-modules=       \t\t[available in C++]
  --param=max-unroll-times=   \t\t8
  --param=parloops-schedule=[static|dynamic] \tstatic
  --param=ranger-debug=       \t\tnone
  --param=undescribed-mode=   \t\tsome
"""
GCC_12_DESCRIBED_PARAMS = """\
The following options control parameters:
  --param=ranger-debug=       --param=ranger-
                              debug=[none|trace|
                              all]     Specifies the output mode.
"""
GCC_9_OPTIMIZERS = """\
The following options control optimizations:
  -O<number>                  \t
  -fgcse                      \t[disabled]
  -fira-region=               \tone

  Known valid arguments for -fira-region= option:
    all mixed one
"""
GCC_9_PARAMS = """\
The following options control parameters:
  predictable-branch-outcome  default 2 minimum 0 maximum 50
  inline-min-speedup          default 30 minimum 0 maximum 0
  parloops-schedule           default static options static,dynamic
"""
PARAMETERS = 6

# Refuses what GCC 12 refuses. The assembly of a program is the options and the program.
_SCRIPT = r"""#!/bin/sh
echo "$*" >> "{log}"
for word; do
  case "$word" in
    --version) printf '%s\n' "{version}" "{owner}"; exit ;;
    -Q) quiet=yes ;;
    --help=optimizers) cat "{folder}/optimizers"; exit ;;
    --help=params) cat "{folder}/params$quiet"; exit ;;
    -fno-stack-protector-all|-fvanished|-fno-vanished)
      echo "gcc: error: unrecognized command-line option '$word'" >&2; failed=yes ;;
    -fpack-struct=[1248]|-fpack-struct=16) ;;
    -fpack-struct=*) echo "cc1: error: not a small power of two" >&2; failed=yes ;;
    --param=asan-stack=0) sleep 3600 & wait ;;
    --param=asan-stack=1) kill -SEGV $$ ;;
    --param=align-threshold=1) echo "cc1: error: is incompatible" >&2; failed=yes ;;
    -o) output=next ;;
    *.c) source="$word" ;;
    -f*|-O*|--param=*) options="$options $word" ;;
  esac
  [ "$previous" = -o ] && output="$word"
  previous="$word"
done
[ -z "$failed" ] || exit 1
[ -z "$output" ] || {{ echo "$options"; cat "$source"; }} > "$output"
"""


class FakeGcc:
    """A program that says it is GCC.

    Args:
        path: Where it is.
        version: What it says it is.
        optimizers: Its options.
        params: Its parameters.
    """

    def __init__(
        self,
        path: Path,
        version: str = "gcc (Fake) 12.0.0",
        optimizers: str = GCC_12_OPTIMIZERS,
        params: str = GCC_12_PARAMS,
    ):
        self.path = path
        self._log = path.with_name(f"{path.name}.log")
        folder = path.with_name(f"{path.name}-texts")
        folder.mkdir()
        (folder / "optimizers").write_text(optimizers)
        (folder / "paramsyes").write_text(params)
        (folder / "params").write_text(GCC_12_DESCRIBED_PARAMS)
        owner = "Copyright (C) Free Software Foundation, Inc."
        path.write_text(_SCRIPT.format(log=self._log, folder=folder, version=version, owner=owner))
        path.chmod(0o755)

    def calls(self, containing: str = "") -> list[str]:
        """The arguments of each time it was run, if they have a text."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [line for line in lines if containing in line]
