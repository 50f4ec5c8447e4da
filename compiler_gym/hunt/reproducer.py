"""The script that reproduces a failure, also used to minimise it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compiler_gym.envs.llvm.benchmarks.validation import ProgramRun
from compiler_gym.hunt.failures import VERIFYING, Failure, Kind, Limits, pipeline_of
from compiler_gym.util import confinement

GUARDS = ("O0", "O1", "O2", "address", "memory")
"""Other ways to build an unoptimised program, with which it has to do the same: at levels of clang,
and with its sanitizers of addresses and of memory without a value."""

UNSTABLE_RUNS = 20
"""The number of runs of opt in scripts that compare results."""

_INTRODUCTION = """\
#!/bin/sh
# {title}
#
# usage: {name} [FILE]    with textual IR or bitcode, by default what is beside this script
#
# Exit code 0: it happens. 1: it does not. To try another LLVM: OPT=/path/to/opt CLANG=... {name}
opt=${OPT:-{opt}}
clang=${CLANG:-{clang}}
passes={passes}
here=$(cd "$(dirname "$0")" && pwd)
input=$(realpath "${1:-$here/{input}}") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ulimit -c 0
optimise() { # OUTPUT [OPTION]
  (
    {limits}
    exec timeout --foreground {wall_seconds} "$opt" {verifying} -passes="$passes" "$input" -o "$@"
  )
}
"""

_PRINTED = """
optimise /dev/null 2>messages && exit 1
{conditions}
exit 0
"""

_HANG = """
({quick}; exec "$opt" -passes=verify "$input" -o /dev/null) 2>/dev/null || exit 1
optimise /dev/null 2>/dev/null
status=$?
# It has used up its processor time, or the time that there is altogether.
[ $status -eq 152 ] || [ $status -eq 137 ] || [ $status -eq 124 ]
"""

_UNSTABLE = """
optimise first {option} 2>/dev/null || exit 1
run=1
while [ $run -lt {runs} ]; do
  optimise next {option} 2>/dev/null || exit 1
  cmp -s first next || exit 0
  run=$((run + 1))
done
exit 1
"""

_WRONG_OUTPUT = """
link_options={link_options}
build() { # MODULE PROGRAM OPTIONS... Without options the passes are those that opt has run.
  module=$1
  program=$2
  shift 2
  [ $# -gt 0 ] || set -- -O{level} -Xclang -disable-llvm-passes
  # shellcheck disable=SC2086
  timeout --foreground {build_seconds} "$clang" "$@" -w "$module" -o "$program" $link_options \\
    2>/dev/null
}
run() { # PROGRAM: leaves what it prints in PROGRAM.out
  mkdir run && ln -s "$work/$1" run/a.out && cd run || exit 1
  # timeout ends the shell only; what else that has started ends when it has used up its time.
  # CONFINE is the path of compiler_gym-confine, which also keeps the program from all files.
  (
    [ -z "$CONFINE" ] || exec env -i PATH="$PATH" here="$here" ASAN_OPTIONS="$ASAN_OPTIONS" \\
      "$CONFINE" --folder="$work/run" --read="$work/$1" {readable} --any_addresses \\
      {run_limits} -- /bin/sh -c {command}
    ulimit -f 131072; ulimit -t {run_cpu_seconds}
    exec timeout --foreground {run_seconds} /bin/sh -c {command}
  ) <{stdin} >"$work/$1.out" 2>/dev/null
  status=$?
  cd "$work" && rm -rf run
  return $status
}
works() { # PROGRAM: it ends well, and prints what the unoptimised program does
  run "$1" && cmp -s expected.out "$1.out"
}
sanitized() { # SANITIZER: the attribute that clang would give to each function, then the build
  # -O1 would take away what there is to see, and without LLVM's passes nobody would look.
  "$opt" -passes=forceattrs -force-attribute="sanitize_$1" "$input" -o "$1.bc" &&
    build "$1.bc" "$1" -O0 "-fsanitize=$1"
}
export here ASAN_OPTIONS=detect_leaks=0
build "$input" reference && run reference && mv reference.out expected.out || exit 1
works reference || exit 1
optimise optimised.bc 2>/dev/null && build optimised.bc optimised || exit 1
works optimised && exit 1
# What the program does must not be a matter of how it is built: then the program would be wrong.
for guard in {guards}; do
  case $guard in
    O*) build "$input" "$guard" "-$guard" ;;
    *) sanitized "$guard" 2>/dev/null ;;
  esac || exit 1
  works "$guard" || exit 1
done
"""

_BUILD_SECONDS = 120


@dataclass(frozen=True)
class Reproducer:
    """The inputs of a failure's script.

    Attributes:
        failure: The failure.
        sequence: The passes.
        opt: The path of opt.
        clang: The path of clang, which builds the programs to run.
        limits: The limits of the trial.
        run: The run of the program, for a wrong output.
        link_options: Options of the linker.
        guards: The :data:`GUARDS` that the program must pass.
        level: The optimisation level of code generation after opt. 0 is several times faster;
            validation uses 2.
    """

    failure: Failure
    sequence: Sequence[str]
    opt: Path
    clang: Path
    limits: Limits
    run: ProgramRun | None = None
    link_options: Sequence[str] = ()
    guards: Sequence[str] = ()
    level: int = 2

    def with_sequence(self, sequence: Sequence[str]) -> "Reproducer":
        """Returns the reproducer with other passes."""
        return replace(self, sequence=tuple(sequence))

    @property
    def files(self) -> dict[str, Path]:
        """The input files of runs, by their name beside the script."""
        if self.run is None:
            return {}
        paths = [self.run.stdin, *self.run.named_paths]
        files: dict[str, Path] = {}
        for path in dict.fromkeys(path for path in paths if path.is_file()):
            stem = path.name
            files[stem if stem not in files else f"{len(files)}-{stem}"] = path
        return files

    def script(self, name: str, input_name: str, title: str) -> str:
        """Returns the script.

        Args:
            name: The name of the script.
            input_name: The name of the module beside it.
            title: A one-line description.
        """
        values = {
            "name": name,
            "title": title,
            "opt": shlex.quote(str(self.opt)),
            "clang": shlex.quote(str(self.clang)),
            "passes": shlex.quote(pipeline_of(self.sequence)),
            "input": input_name,
            "limits": self.limits.as_shell(),
            "wall_seconds": self.limits.wall_seconds,
            "verifying": VERIFYING,
        }
        return _filled(_INTRODUCTION, values) + self._check()

    def _check(self) -> str:
        kind = self.failure.kind
        if kind is Kind.HANG:
            # The passes must take the time, not the rest.
            return _filled(_HANG, {"quick": self.limits.shares(1 / 4).as_shell()})
        if kind in (Kind.UNSTABLE, Kind.UNSTABLE_USES):
            option = "-S" if kind is Kind.UNSTABLE else ""
            return _filled(_UNSTABLE, {"runs": UNSTABLE_RUNS, "option": option})
        if kind is Kind.WRONG_OUTPUT:
            return self._check_output()
        patterns = []
        if kind is Kind.OUT_OF_MEMORY:
            patterns = [("-E", "out of memory|bad_alloc|Cannot allocate memory")]
        elif kind is Kind.BROKEN_MODULE:
            patterns = [("-F", "LLVM ERROR: Broken")]
        elif not self.failure.where:
            patterns = [("-F", "Stack dump")]
        if self.failure.where:
            patterns.append(("-F", self.failure.where))
        if self.failure.guilty:
            patterns.append(("-E", f'Running pass "([^"]*\\()?{self.failure.guilty}[<)"]'))
        conditions = [
            f"grep -q {option} {shlex.quote(text)} messages || exit 1" for option, text in patterns
        ]
        return _filled(_PRINTED, {"conditions": "\n".join(conditions)})

    def _run_limits(self) -> confinement.Limits:
        return confinement.Limits(
            self.limits.seconds, self.limits.cpu_seconds, self.limits.memory_mb
        )

    def _check_output(self) -> str:
        assert self.run is not None
        places = {str(path): f'"$here"/{shlex.quote(name)}' for name, path in self.files.items()}
        command = self.run.command
        for path, place in places.items():
            command = command.replace(path, place)
        return _filled(
            _WRONG_OUTPUT,
            {
                "link_options": shlex.quote(shlex.join(self.link_options)),
                "build_seconds": _BUILD_SECONDS,
                "run_seconds": f"{self.limits.seconds:g}",
                "run_cpu_seconds": self.limits.cpu_seconds,
                "run_limits": " ".join(self._run_limits().arguments()),
                "guards": " ".join(self.guards),
                "level": self.level,
                "stdin": places.get(str(self.run.stdin), "/dev/null"),
                "readable": " ".join(self._readable(places)),
                "command": shlex.quote(command),
            },
        )

    def _readable(self, places: Mapping[str, str]) -> list[str]:
        """Returns options for what the run may read: files beside the script, and folders."""
        assert self.run is not None
        named = [each for each in self.run.named_paths if each.is_dir()]
        return [f"--read={each}" for each in [*places.values(), *map(shlex.quote, map(str, named))]]


def _filled(template: str, values: Mapping[str, object]) -> str:
    """Fills in names in braces, and keeps the braces of the shell."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", str(value))
    return template
