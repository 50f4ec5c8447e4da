"""Builds the wheel: lays out the files it is given and runs setuptools.

Usage: build_wheel OUTPUT.whl @FILE_LIST, where each line of the list is PLACE=SOURCE.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# What the build makes are data files of the package, all in one folder of it: nothing in the wheel
# depends on the Python version.
BUILT_FOLDERS = re.compile("^(llvm_service/(tools/)?|mlir_service/)")
SERVICE_PLACE = "compiler_gym/_service/"
PROGRAMS = (
    "compiler_gym-llvm-service",
    "compiler_gym-llvm-service-shared",
    "compute_observation",
)
OPTIONAL_PROGRAMS = ("compiler_gym-mlir-service",)  # Not every LLVM comes with MLIR.
TAG_OPTIONS = ["--python-tag", "py3", "--plat-name", "linux_x86_64"]
SETUP = """
import setuptools

setuptools.setup(
    packages=setuptools.find_namespace_packages(include=["compiler_gym*"]),
    package_data={"": ["*"]},
)
"""


def read_list(argument: str) -> dict[str, Path]:
    """The files of the wheel, by their place in it."""
    lines = Path(argument.removeprefix("@")).read_text().splitlines()
    files = dict(line.split("=", 1) for line in lines)
    files = {BUILT_FOLDERS.sub(SERVICE_PLACE, place): source for place, source in files.items()}
    return {
        place: Path(source)
        for place, source in files.items()
        if place.startswith("compiler_gym/") or "/" not in place
    }


def stage(files: dict[str, Path], folder: Path) -> None:
    """Lays out the files as setuptools wants them."""
    for place, source in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / place)
    for program in PROGRAMS:
        (folder / SERVICE_PLACE / program).chmod(0o755)
    for program in OPTIONAL_PROGRAMS:
        if (folder / SERVICE_PLACE / program).exists():
            (folder / SERVICE_PLACE / program).chmod(0o755)
    (folder / "setup.py").write_text(SETUP)


def build(folder: Path) -> Path:
    """Runs setuptools in the staged folder and returns the wheel."""
    command = [sys.executable, "setup.py", "--quiet", "bdist_wheel", *TAG_OPTIONS]
    subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    return next((folder / "dist").glob("*.whl"))


def main() -> None:
    output = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as name:
        stage(read_list(sys.argv[2]), Path(name))
        wheel = build(Path(name))
        if wheel.name != output.name:
            sys.exit(f"The wheel is {wheel.name}, not {output.name}: VERSION and //:BUILD disagree")
        shutil.copyfile(wheel, output)


if __name__ == "__main__":
    main()
