"""The plugin that makes the code of one run of ``clang -Oz`` smaller, and its models."""

import json
from pathlib import Path

from compiler_gym.errors import EnvironmentNotSupported
from compiler_gym.util import llvm_tools

MODELS = Path(__file__).parent / "one_run_models"
"""The models, one file for each target. They are part of the plugin, too."""

_OTHER_NAMES = {"amd64": "x86_64", "arm64": "aarch64"}


def one_run_options(setting: str = "") -> list[str]:
    """Returns the options of clang that load the plugin.

    Args:
        setting: An option of the plugin.

    Raises:
        EnvironmentNotSupported: If there is no plugin.
    """
    plugin = llvm_tools.one_run_path()
    if plugin is None:
        raise EnvironmentNotSupported(
            f"expected {llvm_tools.ONE_RUN_FILE} beside the LLVM service, found none; "
            "install the wheel, or build //llvm_service"
        )
    as_plugin = f"-fpass-plugin={plugin}"
    if not setting:
        return [as_plugin]
    # Loaded first to register its options, and then as a plugin.
    return ["-Xclang", "-load", "-Xclang", str(plugin), as_plugin, "-mllvm", setting]


def models() -> list[str]:
    """Returns the targets that have models, see :func:`model_name`."""
    return sorted(path.stem for path in MODELS.glob("*.json"))


def model_name(architecture: str) -> str:
    """Returns the name of the model that the plugin chooses.

    Args:
        architecture: The architecture as the triple names it.
    """
    if architecture.startswith("thumb"):
        # These processors have the instructions of Thumb-1 alone.
        is_first = architecture.startswith("thumbv6") or architecture == "thumbv8m.base"
        return "thumbv6m" if is_first else "thumb"
    return _OTHER_NAMES.get(architecture, architecture)


def description(architecture: str | None = None) -> str:
    """Returns a sentence about the model of an architecture, or about all models."""
    if architecture is None:
        return f"models for {', '.join(models())}"
    name = model_name(architecture)
    if name not in models():
        return f"no model for {architecture}, so the code is that of clang"
    model = json.loads((MODELS / f"{name}.json").read_text(encoding="utf-8"))
    return f"model for {name}: {model['about']}"
