"""Builds the site: build_site.py OUTPUT. Any warning of Sphinx is an error."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).absolute().parent
sys.path.insert(0, str(HERE))

from command_pages import write_command_page  # noqa: E402
from environment_pages import write_environment_pages  # noqa: E402
from notebook_pages import write_notebook_pages  # noqa: E402
from reference_pages import write_reference_pages  # noqa: E402
from site_links import link_to_generated_pages  # noqa: E402
from sphinx.cmd.build import build_main  # noqa: E402

from compiler_gym.util.runfiles_path import find_service_binary  # noqa: E402

ROOT = HERE.parents[1]


def actions_page() -> str:
    """Returns the page about LLVM's passes, which the service prints."""
    program = find_service_binary("describe_actions", package="llvm_service/tools")
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def prepare(source: Path) -> None:
    """Copies the pages into a folder, and adds what is generated."""
    shutil.copytree(ROOT / "docs", source)
    link_to_generated_pages(source)
    shutil.copy(HERE / "conf.py", source)
    for name in ("CHANGELOG.md", "CODE_OF_CONDUCT.md"):
        shutil.copy(ROOT / name, source / "contributing" / name.lower().replace("_", "-"))
    (source / "reference").mkdir()
    (source / "environments/llvm-actions.md").write_text(actions_page(), encoding="utf-8")
    write_environment_pages(source / "environments")
    write_notebook_pages(source / "notebooks")
    write_command_page(source / "command-line.md")
    for page in ("index.md", "contributing/index.md"):
        drop_absent_pages(source / page)
    write_reference_pages(source / "reference", ROOT)


def drop_absent_pages(page: Path) -> None:
    """Drops the patterns of a table of contents that match no page, which Sphinx warns of."""
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = (line for line in lines if not is_absent(line.strip(), page.parent))
    page.write_text("".join(kept), encoding="utf-8")


def is_absent(pattern: str, folder: Path) -> bool:
    """Returns whether a line is a pattern of pages that matches none."""
    return re.fullmatch(r"[\w./-]+\*", pattern) is not None and not any(
        path.suffix == ".md" for path in (folder / pattern).parent.glob(Path(pattern).name)
    )


def build(output: Path) -> int:
    """Builds the site into a folder, and returns the exit code of Sphinx."""
    output = output.absolute()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update({"HOME": folder, "PYTHONPATH": os.pathsep.join(sys.path)})
        source = Path(folder) / "source"
        prepare(source)
        doctrees = Path(folder) / "doctrees"
        jobs = str(os.environ.get("SITE_JOBS", 2))
        options = ["-b", "html", "-W", "--keep-going", "-q", "-j", jobs, "-d", str(doctrees)]
        return build_main([*options, str(source), str(output)])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
