"""Under what circumstances something was measured."""

import os
import platform
from pathlib import Path

import grpc

from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.process.child_process import descendants
from compiler_gym.service.proto import GetVersionRequest


def describe_machine() -> str:
    """The processor and how many of them there are, the kernel, and Python with gRPC."""
    return (
        f"{_processor()}, {os.cpu_count()} processors, Linux {platform.release()}, "
        f"Python {platform.python_version()}, grpcio {grpc.__version__}"
    )


def describe_service(service: Path) -> str:
    """The versions of the service and of its compiler."""
    with CompilerGymServiceConnection(service) as connection:
        version = connection(connection.stub.GetVersion, GetVersionRequest())
    return f"service {version.service_version}, LLVM {version.compiler_version}"


def load_average() -> float:
    """The load average of the last minute."""
    return os.getloadavg()[0]


def busy_seconds() -> float:
    """The total busy time of the machine's processors since boot."""
    # user nice system idle iowait irq softirq, as proc(5) lists them.
    times = Path("/proc/stat").read_text().splitlines()[0].split()[1:8]
    ticks = sum(int(time) for time in times[:3] + times[5:])
    return ticks / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int | None = None) -> float:
    """Processor time of a process and of all that it has started, living or not.

    Args:
        pid: The process; by default this one.
    """
    # The 14th to 17th field of proc(5) are user, system, and those of children that have ended.
    return sum(_seconds(each, 4) for each in with_descendants(os.getpid() if pid is None else pid))


def own_cpu_seconds(pid: int) -> float:
    """Processor time of a process, without its children."""
    return _seconds(pid, 2)


def _seconds(pid: int, count: int) -> float:
    """The sum of times in ``/proc/PID/stat``, from the 14th field on. 0 if there is no process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11 : 11 + count])) / os.sysconf("SC_CLK_TCK")


def with_descendants(pid: int) -> list[int]:
    """Returns a process and all that it has started, directly or not."""
    return [pid, *descendants(pid)]


def private_mebibytes(pid: int) -> float:
    """Memory that belongs to single processes among those that a process has started, in MiB."""
    return sum(_own_mebibytes(each) for each in descendants(pid))


def _own_mebibytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
