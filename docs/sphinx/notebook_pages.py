"""Runs the notebooks, and makes pages of them with what they print and draw."""

import base64
import os
import tempfile
from pathlib import Path

import nbformat
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient


def write_notebook_pages(folder: Path) -> None:
    """Writes a page beside each notebook of a folder.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    for path in sorted(folder.glob("*.ipynb")):
        page = page_of(executed(path), path.stem, folder)
        path.with_suffix(".md").write_text(page, encoding="utf-8")


def executed(path: Path) -> nbformat.NotebookNode:
    """Runs a notebook from top to bottom in an empty folder, and returns it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    with tempfile.TemporaryDirectory() as folder:
        # Sockets in the folder, so that nobody else can connect to the kernel.
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/kernel")
        resources = {"metadata": {"path": folder}}
        return NotebookClient(notebook, km=kernel, timeout=120, resources=resources).execute()


def page_of(notebook: nbformat.NotebookNode, name: str, folder: Path) -> str:
    """Returns a notebook in Markdown. Its plots become files in a folder."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            parts.append(_output(output, f"{name}-{len(parts)}.png", folder))
    heading, *rest = parts
    download = f"{{download}}`Download this notebook <{name}.ipynb>`"
    title, _, text = heading.partition("\n")
    return "\n\n".join([title, download, text.strip(), *filter(None, rest)]) + "\n"


def _output(output: nbformat.NotebookNode, name: str, folder: Path) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```" if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        (folder / name).write_bytes(base64.b64decode(data["image/png"]))
        return f"```{{image}} {name}\n:alt: Plot\n:class: drawn\n```"
    return f"```text\n{data['text/plain']}\n```" if "text/plain" in data else ""
