"""Tests of features that only Python services have. The tests of C++ services also run with Python
services, as `python_service_*_test` and `runtime:Python*Test`.
"""

import functools
import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from compiler_gym.datasets import Benchmark
from compiler_gym.errors import ServiceError, ServiceInitError, ServiceOSError
from compiler_gym.service import ClientServiceCompilerEnv, ConnectionOpts
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from tests.prepared import PreparedInterpreter
from tests.processes import is_running, wait_until

PROGRAM = Path(__file__).parent / "evaluating_service.py"


def make_env(*flags: str, program: str = "", **kwargs) -> ClientServiceCompilerEnv:
    env = ClientServiceCompilerEnv(
        service=PROGRAM,
        benchmark=Benchmark.from_file_contents("benchmark://code-v0/program", program.encode()),
        observation_space="value",
        connection_settings=ConnectionOpts(script_args=list(flags)),
        **kwargs,
    )
    env.reset()
    return env


@pytest.fixture(scope="module")
def shared_env():
    with make_env() as env:
        yield env


@pytest.fixture(scope="module", params=["--isolation=process", "--foreground"])
def env_of_any_kind(request):
    with make_env(request.param) as env:
        yield env


@pytest.fixture
def any_env(env_of_any_kind):
    env_of_any_kind.reset()
    return env_of_any_kind


@pytest.fixture
def env(shared_env):
    shared_env.reset()
    return shared_env


def evaluate(env: ClientServiceCompilerEnv, expression: str) -> str:
    return env.send_param("eval", expression)


def failure(env: ClientServiceCompilerEnv, code: str) -> str:
    """The error that ends the episode."""
    _, _, done, info = env.step(code)
    assert done
    return info["error_details"]


# Exceptions.


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        ("ValueError('no')", ValueError, "no\nTraceback"),
        ("KeyError('no')", FileNotFoundError, "KeyError: 'no'\nTraceback"),
        ("FileNotFoundError('no')", FileNotFoundError, "no\nTraceback"),
        ("NotImplementedError('no')", NotImplementedError, "no\nTraceback"),
        ("TypeError('no')", TypeError, "no\nTraceback"),
        ("TimeoutError('no')", TimeoutError, "no\nTraceback"),
        ("ServiceOSError('no')", ServiceOSError, "no"),
        ("ServiceError('no')", ServiceError, "no"),
        ("RuntimeError('no')", ServiceError, "RuntimeError: no\nTraceback"),
        ("PermissionError('no')", ServiceError, "PermissionError: no\nTraceback"),
        ("SystemExit(3)", ServiceError, "SystemExit: 3\nTraceback"),
        ("KeyboardInterrupt()", ServiceError, "KeyboardInterrupt: \nTraceback"),
    ],
)
def test_exceptions(any_env, raised, kind, text):
    any_env.step(
        "def fail(error): raise error\n"
        f"self.tricks['get_observation'] = \"self.fail({raised})\"\n"
        "self.fail = fail",
        observation_spaces=[],
    )
    with pytest.raises(kind) as caught:
        any_env.observation["value"]
    assert type(caught.value) is kind
    assert str(caught.value).startswith(text)
    assert ("evaluating_service.py" in str(caught.value)) == ("Traceback" in text)
    assert "hosted_sessions" not in str(caught.value)
    any_env.reset()
    assert any_env.step("self.value += 1")[0] == 1


@pytest.mark.parametrize("method", ["apply_action", "begin_step", "end_of_step"])
def test_exceptions_of_methods(any_env, method):
    if method == "apply_action":
        assert "ZeroDivisionError: division by zero" in failure(any_env, "1 / 0")
        return
    # That of this step has been called already, or is to come.
    code = f"self.tricks[{method!r}] = '1 / 0'"
    if method == "begin_step":
        any_env.step(code)
    assert "ZeroDivisionError: division by zero" in failure(any_env, code)


def test_exception_of_the_constructor():
    with pytest.raises(ServiceError, match="ZeroDivisionError"):
        make_env(program="1 / 0")
    with pytest.raises(ValueError, match="not a program"):
        make_env(program="raise ValueError('not a program')")


@pytest.mark.parametrize("opts", [{}, {"always_send_benchmark_on_reset": True}])
def test_benchmark_that_is_a_name_alone(opts):
    benchmark = Benchmark(BenchmarkProto(uri="benchmark://code-v0/name"))
    with ClientServiceCompilerEnv(
        PROGRAM, benchmark=benchmark, connection_settings=ConnectionOpts(**opts)
    ) as env:
        env.reset()
        assert Path(evaluate(env, "self.working_dir")).is_dir()


def test_exception_of_a_parameter(env):
    with pytest.raises(ServiceError, match="ZeroDivisionError"):
        evaluate(env, "1 / 0")
    # Nobody knows in which state it has left the session.
    with pytest.raises(ServiceError, match="earlier failure"):
        env.send_param("unknown", "")
    env.reset()
    with pytest.raises(ValueError, match="Unknown"):
        env.send_param("unknown", "")


def test_exception_after_a_fork(env):
    env.step("self.tricks['after_fork'] = '1 / 0'")
    broken = pytest.raises(ServiceError, match="ZeroDivisionError")
    with env.fork() as fork, broken:
        fork.observation["value"]
    assert env.observation["value"] == 0


def test_exceptions_that_nobody_waits_for(env):
    env.step("self.tricks = {'close': '1 / 0', 'forkable': '[][0]'}")
    with env.fork() as fork:  # By replay.
        assert fork.observation["value"] == 0
    env.reset()
    wait_until(lambda: "ZeroDivisionError: division by zero" in set(env.service.loglines()))
    assert "IndexError: list index out of range" in set(env.service.loglines())


def test_long_texts_are_cut(env):
    text = failure(env, "raise RuntimeError('x' * 100000 + 'the end')")
    assert len(text) < 5000
    assert text.startswith("RuntimeError: xxx")
    assert text.endswith("the end")


def test_exception_without_a_text(env):
    code = "class Odd(Exception):\n  def __str__(self): return 1 / 0\nraise Odd"
    assert failure(env, code).startswith("Odd, which cannot be printed: ZeroDivisionError")


# Results.


@pytest.mark.parametrize(
    ("method", "result", "text"),
    [
        ("apply_action", "None", "(end_of_session, new_action_space, action_had_no_effect)"),
        ("apply_action", "(1, 2)", "not tuple: (1, 2)"),
        ("apply_action", "(False, 'x', False)", "an ActionSpace or None as the new action space"),
        ("get_observation", "1.5", "(of value) must return an Event, not float: 1.5"),
        ("end_of_step", "True", "(end_of_session, new_action_space) or None, not bool: True"),
        ("end_of_step", "(False, 1)", "an ActionSpace or None as the new action space, not int"),
    ],
)
def test_wrong_results(env, method, result, text):
    code = f"self.tricks[{method!r}] = {result!r}"
    if method == "get_observation":
        env.step("self.value = 1", observation_spaces=[])
        env.step(code, observation_spaces=[])
        with pytest.raises(ServiceError) as caught:
            env.observation["value"]
        details = str(caught.value)
    else:
        details = failure(env, code)
    assert details.startswith(f"EvaluatingSession.{method} ")
    assert text in details
    assert "Traceback" not in details


def test_wrong_results_of_parameters():
    with make_env() as env:
        env.step("self.tricks = {'key': '1'}")
        with pytest.raises(ServiceError, match="not int: 1"):
            env.send_param("key", "")


# Processes.


def test_random_numbers_are_part_of_the_state(env):
    env.step("random.seed(7)")
    draw = "self.value = random.randrange(10**9)"
    with env.fork() as fork:
        assert fork.step(draw)[0] == env.step(draw)[0]
        assert fork.step(draw)[0] == env.step(draw)[0]


def test_every_session_has_the_random_numbers_of_its_program():
    with make_env(program="random.seed(7)") as env:
        draws = set()
        for _ in range(3):
            env.reset()
            draws.add(env.step("self.value = random.randrange(10**9)")[0])
        assert len(draws) == 1


def test_copies_are_told(env):
    env.step("self.tricks['after_fork'] = 'setattr(self, \"value\", 100)'")
    with env.fork() as fork:
        assert [env.observation["value"], fork.observation["value"]] == [0, 100]
        assert evaluate(env, "os.getpid()") != evaluate(fork, "os.getpid()")
        assert evaluate(fork, "threading.main_thread() is threading.current_thread()") == "True"


@pytest.mark.parametrize(
    "reason",
    [
        "self.tricks['forkable'] = 'False'",
        "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
    ],
)
def test_sessions_that_cannot_be_copied_are_repeated(env, reason):
    env.step(reason)
    env.step("self.value += os.getpid()")
    with env.fork() as fork:
        assert fork.observation["value"] == int(evaluate(fork, "os.getpid()"))
        assert env.observation["value"] == int(evaluate(env, "os.getpid()"))


def test_a_crash_report_names_the_line_of_python(env):
    details = failure(env, "print('no newline', end=''); os.abort()")
    assert "signal 6" in details
    assert "no newline" in details
    assert "evaluating_service.py" in details
    assert "in apply_action" in details


def test_programs_end_with_the_session(env):
    env.step("self.child = subprocess.Popen(['sleep', '1000'])")
    child = int(evaluate(env, "self.child.pid"))
    assert is_running(child)
    failure(env, "os.abort()")
    wait_until(lambda: not is_running(child))


def test_temporary_files_end_with_the_service(env):
    folder = Path(evaluate(env, "tempfile.mkdtemp()"))
    assert folder.is_relative_to(env.service.service.working_dir)


def test_output_is_in_the_log(env):
    env.step("print('to standard output'); print('to standard error', file=sys.stderr)")
    assert {"to standard output", "to standard error"} <= set(env.service.loglines())


# The program.


@functools.cache
def _interpreter() -> PreparedInterpreter:
    return PreparedInterpreter("compiler_gym.service.runtime")


def run_program(tmp_path: Path, code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "my_service.py"
    program.write_text(
        "from compiler_gym.service import CompilationSession\n"
        "from compiler_gym.service.proto import ActionSpace, ObservationSpace\n"
        "from compiler_gym.service.runtime import create_and_run_compiler_gym_service\n"
        + textwrap.dedent(code)
    )
    words = [str(program), f"--working_dir={tmp_path / 'working'}", *flags]
    lines = [
        "import runpy, sys",
        f"sys.argv = {words}",
        "runpy.run_path(sys.argv[0], {}, '__main__')",
    ]
    return _interpreter().run_code("\n".join(lines), tmp_path, dict(os.environ))


COMPLETE = """
class My(CompilationSession):
    '''The best compiler.

    Of all.
    '''

    action_spaces = [ActionSpace(name="a")]
    observation_spaces = [ObservationSpace(name="o")]

create_and_run_compiler_gym_service(My)
"""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("create_and_run_compiler_gym_service(int)", "TypeError: A service is made of a subclass"),
        ("create_and_run_compiler_gym_service(None)", "not of None"),
        (COMPLETE.replace("action_spaces = [Act", "other = [Act"), "My.action_spaces is empty"),
        (COMPLETE.replace('[ObservationSpace(name="o")]', "[]"), "My.observation_spaces is empty"),
        (
            COMPLETE.replace('[ActionSpace(name="a")]', "3"),
            "a list of ActionSpace messages",
        ),
        (COMPLETE.replace('[ActionSpace(name="a")]', "['a']"), "must hold ActionSpace messages"),
        (COMPLETE.replace('[ActionSpace(name="a")]', '[ActionSpace(name="a")] * 2'), "must differ"),
        (COMPLETE.replace('ActionSpace(name="a")', "ActionSpace()"), "not be empty: ['']"),
        (
            COMPLETE.replace("action_spaces", "compiler_version = 3; action_spaces", 1),
            "My.compiler_version must be a string",
        ),
    ],
)
def test_classes_that_are_no_services(tmp_path, code, text):
    result = run_program(tmp_path, code)
    assert result.returncode == 1
    assert text in result.stderr


def test_service_that_does_not_start(tmp_path):
    program = tmp_path / "broken.py"
    program.write_text("raise RuntimeError('not today')")
    with pytest.raises(ServiceInitError, match="not today"):
        ClientServiceCompilerEnv(service=program)
