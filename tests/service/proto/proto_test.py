"""The import point of the generated code."""

import subprocess
import sys

import pytest

from compiler_gym.service import proto
from compiler_gym.service.proto import compiler_gym_service_pb2, compiler_gym_service_pb2_grpc

GRPC_NAMES = [
    "CompilerGymServiceServicer",
    "CompilerGymServiceStub",
    "add_CompilerGymServiceServicer_to_server",
]


def test_all_names_are_exported():
    messages = compiler_gym_service_pb2.DESCRIPTOR.message_types_by_name
    assert sorted(proto.__all__) == sorted([*messages, *GRPC_NAMES])
    for name in messages:
        assert getattr(proto, name) is getattr(compiler_gym_service_pb2, name)
    for name in GRPC_NAMES:
        assert getattr(proto, name) is getattr(compiler_gym_service_pb2_grpc, name)


@pytest.mark.parametrize(
    ("number", "message", "field"),
    [
        (24, proto.Space, "any_value"),
        (25, proto.Space, "space_sequence"),
        (26, proto.Space, "space_union"),
        (2, proto.Space, "type_id"),
        (1, proto.Event, "type_id"),
        (15, proto.Event, "any_value"),
        (4, proto.StartSessionRequest, "benchmark"),
        (100, proto.CommandlineSpace, "description"),
    ],
)
def test_field_numbers_of_the_contract(number, message, field):
    assert message.DESCRIPTOR.fields_by_name[field].number == number


def test_converters_do_not_import_graphs():
    program = (
        "import sys; from compiler_gym.service.proto import py_converters; "
        "assert 'networkx' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
