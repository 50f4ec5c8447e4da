"""``compiler-gym hunt``: searches for defects of LLVM's passes."""

import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compiler_gym.cli.console import messages, print_json, print_line, print_table, working_on
from compiler_gym.cli.options import (
    JsonOption,
    complete_program,
    opened_env,
    program_file,
    program_or_dataset,
)
from compiler_gym.cli.pool_options import RayOption, command_pool
from compiler_gym.errors.nearest_names import unknown_name
from compiler_gym.hunt.failures import Limits
from compiler_gym.util import llvm_tools
from compiler_gym.util.interrupts import INTERRUPTED
from compiler_gym.util.shell_format import plural

if TYPE_CHECKING:
    from compiler_gym.datasets import Datasets
    from compiler_gym.hunt.findings import Findings
    from compiler_gym.hunt.hunter import Hunt
    from compiler_gym.hunt.passes import Pass
    from compiler_gym.hunt.trial import Outcome

_PROGRAMS = ("kernels-v0", "csmith-v0")
_ACTION_SPACE = "PassesWithParameters"


def hunt(
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Datasets, such as kernels-v0, and programs: URIs, or files. By default: "
            f"{' '.join(_PROGRAMS)}.",
            autocompletion=complete_program,
            show_default=False,
        ),
    ] = None,
    output_folder: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder for findings. An old hunt continues."),
    ] = Path("hunt"),
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Time limit; by default until Ctrl-C.")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=0, help="Number of trials.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel trials.")] = 1,
    length: Annotated[int, typer.Option(min=1, help="Number of passes in a trial.")] = 30,
    guided: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of trials that start with passes of an earlier trial. Those that shrank or "
            "grew a program more than all before are reused.",
        ),
    ] = 0.5,
    actions_only: Annotated[
        bool, typer.Option("--actions-only", help="Only passes that are actions of environments.")
    ] = False,
    passes: Annotated[
        str | None,
        typer.Option(help="Try these passes, in one trial unless --trials says otherwise."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="A command that runs programs given as files, to compare their output."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1, help="Processor seconds of opt. Twice as many count as a hang.")
    ] = Limits.seconds,
    memory: Annotated[int, typer.Option(min=512, help="Memory limit of opt in megabytes.")] = (
        Limits.memory_mb
    ),
    repeats: Annotated[
        int, typer.Option(min=1, help="Number of runs of opt, which have to make the same bitcode.")
    ] = Limits.repeats,
    reduce_seconds: Annotated[
        float, typer.Option(min=1, help="Time limit for the reduction of a finding.")
    ] = Limits.reduce_seconds,
    opt: Annotated[
        Path | None, typer.Option(help="Another opt, e.g. one with assertions.", dir_okay=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of a new hunt.")] = 0,
    ray: RayOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hunt for defects of LLVM's passes.

    Finds crashes, hangs, broken modules, wrong and unstable results.

    A trial runs random passes of opt on a program, except passes that only print, or change
    programs by design. The behaviour of the program must not change. Each finding is reduced, and
    written to a folder for a bug report, with a script run.sh that reproduces it.

    Ctrl-C ends the hunt, and the same command continues it. The exit code is 0 even if there are
    findings, and 1 if trials failed, for example because a program took too long to compile.

    With --ray, the nodes of a cluster run the trials, and the findings are written here. Each node
    needs clang, opt and the datasets.

    \b
    Examples:
      compiler-gym hunt --seconds 3600 --jobs 2
      compiler-gym hunt --seconds 3600 --ray auto
      compiler-gym hunt csmith-v0 --actions-only
      compiler-gym hunt sort.c --run "./a.out < in.txt"
      compiler-gym hunt sha256 --passes sroa,newgvn,licm
    """  # noqa: D301, the mark of a paragraph that is not filled.
    from compiler_gym.distributed.pool import Limits as PoolLimits
    from compiler_gym.hunt.findings import Findings
    from compiler_gym.hunt.hunter import Hunt
    from compiler_gym.hunt.passes import Sequences, list_passes, parse_sequence, usable_passes
    from compiler_gym.hunt.programs import Programs
    from compiler_gym.hunt.tasks import Setup, hunt_on_pool
    from compiler_gym.hunt.trial import Laboratory

    if ray is not None and run is not None:
        raise typer.BadParameter("--run is for programs of this machine, and --ray uses others.")
    limits = Limits(timeout, memory, repeats, reduce_seconds)
    opt_path = llvm_tools.opt_path() if opt is None else _checked(opt)
    with working_on("looking for programs and passes"):
        datasets, uris = _programs(programs or [*_PROGRAMS], run)
        known = Programs(datasets, uris)
        actions = _actions()
        all_passes = _passes_of(actions) if actions_only else list_passes(opt_path)
        if passes is None:
            fixed = None
            all_passes = usable_passes(all_passes, opt_path, jobs)
        else:
            fixed = parse_sequence(passes, all_passes)
            _check_passes(fixed, all_passes, opt_path, jobs)
    trials = 1 if fixed and trials is None else trials
    output_folder.mkdir(parents=True, exist_ok=True)
    findings = Findings(output_folder / "findings", frozenset(actions))
    session = Hunt(output_folder, Sequences(all_passes, length, guided, fixed), seed)
    interrupted = False
    with _Reporter(session, findings) as reporter:
        laboratory = Laboratory(
            opt=opt_path,
            clang=llvm_tools.clang_path(),
            programs=known,
            findings=findings,
            limits=limits,
            report=reporter.note,
            end=math.inf if seconds is None else time.monotonic() + seconds,
        )
        try:
            if ray is None:
                session.run(laboratory, jobs, trials, seconds, reporter.show)
            else:
                setup = Setup(tuple(uris), opt and opt_path, frozenset(actions), limits)
                with command_pool(ray, PoolLimits(task_seconds=setup.task_seconds)) as pool:
                    hunt_on_pool(session, findings, pool, setup, trials, seconds, reporter.show)
        except KeyboardInterrupt:
            interrupted = True
    _print_results(session, findings, as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if session.failures:
        first = session.failures[0]
        messages().print(
            f"{plural(len(session.failures), 'trial')} failed, the first with {first}",
            soft_wrap=True,
        )
        raise typer.Exit(1)


def _programs(names: list[str], run: str | None) -> "tuple[Datasets, list[str]]":
    """Returns the datasets, and the URIs of named programs."""
    from compiler_gym.envs.llvm.benchmarks.own_programs import benchmark
    from compiler_gym.envs.llvm.datasets.llvm_datasets import LlvmDatasets, get_llvm_datasets

    datasets = LlvmDatasets(get_llvm_datasets())
    uris = []
    for name in names:
        uri = program_or_dataset(datasets, name)
        file = None if run is None else program_file(name)
        if run is not None and file is not None:
            program = benchmark(file, run=run)
            datasets.remember(program)
            uri = str(program.uri)
        uris.append(uri)
    return datasets, uris


def _checked(opt: Path) -> Path:
    path = opt.expanduser().absolute()
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {opt}, which is to be opt")
    return path


def _actions() -> list[str]:
    """Returns the actions that opt knows, as elements of ``module(...)``."""
    with opened_env("llvm-v0", action_space=_ACTION_SPACE) as env:
        return [item.flag for item in env.action_space.items if not item.option]


def _check_passes(sequence: list[str], known: "list[Pass]", opt: Path, jobs: int) -> None:
    """Raises LookupError if opt does not take one of the passes of a sequence."""
    from compiler_gym.hunt.passes import Pass, usable_passes

    asked = [Pass(text, (text,)) for text in dict.fromkeys(sequence)]
    usable = {each.name for each in usable_passes(asked, opt, jobs)}
    for text in sequence:
        if text not in usable:
            raise unknown_name("pass", text, [each.name for each in known])


def _passes_of(actions: list[str]) -> "list[Pass]":
    """Returns the passes that actions run, each with its forms."""
    from compiler_gym.hunt.passes import Pass, name_of

    forms: dict[str, list[str]] = {}
    for action in actions:
        forms.setdefault(name_of(action), []).append(action)
    return [Pass(name, tuple(each)) for name, each in forms.items()]


class _Reporter:
    """Shows the progress of a hunt: a status line on terminals, and a line for each finding."""

    def __init__(self, hunt: "Hunt", findings: "Findings"):
        self._hunt = hunt
        self._findings = findings
        self._status = messages().status("hunting")

    def __enter__(self) -> "_Reporter":
        if self._status.console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def note(self, text: str) -> None:
        """Shows the current work of a long trial."""
        if self._status.console.is_terminal:
            self._status.update(f"{self._summary()}; {text}")
        else:
            self._status.console.print(text, soft_wrap=True)

    def show(self, outcome: "Outcome") -> None:
        """Shows the result of a trial."""
        self._status.update(self._summary())
        if outcome.verdict == "found" and outcome.finding is not None:
            finding = outcome.finding
            passes = ",".join(finding.passes)
            self._status.console.print(
                f"{finding.name}: {finding.kind} with {passes}, in {outcome.program}",
                soft_wrap=True,
            )

    def _summary(self) -> str:
        trials = plural(self._hunt.progress.trials, "trial")
        return f"{trials}, {plural(len(self._findings.all()), 'finding')}"


def _print_results(hunt: "Hunt", findings: "Findings", as_json: bool) -> None:
    from compiler_gym.hunt.findings import as_row

    progress, found = hunt.progress, findings.all()
    if as_json:
        print_json(
            {
                "trials": progress.trials,
                "seconds": progress.seconds,
                "verdicts": progress.verdicts,
                "findings": [asdict(finding) for finding in found],
            }
        )
        return
    if found:
        print_table(map(as_row, found))
        print_line()
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in progress.verdicts.items())
    print_line(
        f"{plural(progress.trials, 'trial')} in {progress.seconds:.0f} s"
        + (f": {verdicts}" if verdicts else "")
    )
    if hunt.given_up:
        print_line(
            f"{plural(hunt.given_up, 'trial')} under way given up: to make a finding smaller "
            "takes up to --reduce-seconds"
        )
