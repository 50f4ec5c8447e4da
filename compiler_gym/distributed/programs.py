"""Programs as data, so that nodes need neither their data set nor their file.

How a program is built and run is not part of the data: that names files of one machine.
"""

from dataclasses import dataclass

from compiler_gym.datasets import Benchmark
from compiler_gym.distributed.task import digest_of
from compiler_gym.service.proto import Benchmark as BenchmarkProto
from compiler_gym.service.proto import File
from compiler_gym.util.filesystem import file_of_uri


@dataclass(frozen=True)
class Program:
    """A program with its bytes.

    Attributes:
        uri: Its URI.
        data: The message for the service, serialised.
        message: The hash of that, by which workers find it.
        digest: The hash of the program alone, whatever its name is.
    """

    uri: str
    data: bytes
    message: str
    digest: str

    @classmethod
    def of(cls, benchmark: Benchmark) -> "Program":
        """Makes one of a benchmark.

        Raises:
            OSError: If it is a file that cannot be read.
            ValueError: If it names no file of this machine.
        """
        program = benchmark.proto.program
        if program.WhichOneof("data") == "uri":
            contents = file_of_uri(program.uri).read_bytes()
        else:
            contents = program.contents
        proto = BenchmarkProto(uri=str(benchmark.uri), program=File(contents=contents))
        data = proto.SerializeToString(deterministic=True)
        return cls(proto.uri, data, digest_of(data), digest_of(contents))
