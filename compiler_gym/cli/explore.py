"""``compiler-gym explore``: a page in the browser that shows what each pass does."""

import ipaddress
import webbrowser
from typing import Annotated

import typer

from compiler_gym.cli.console import messages, print_line, working_on
from compiler_gym.cli.options import PROGRAM_HELP, complete_program, program_uri
from compiler_gym.explorer.limits import PUBLIC_NAME_HELP
from compiler_gym.util.optional_packages import EXTRAS, require


def explore(
    program: Annotated[
        str | None,
        typer.Argument(help=PROGRAM_HELP, autocompletion=complete_program, show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for a free one.")
    ] = 0,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--browser/--no-browser",
            help="Open the page in the browser. The default, unless the page is for others.",
            show_default=False,
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Serve strangers: no token, and tight limits.")
    ] = False,
    public_name: Annotated[str, typer.Option(help=PUBLIC_NAME_HELP, show_default=False)] = "",
) -> None:
    """Open a page that shows what each pass does to a program.

    Choose a program, apply passes, go back, branch, compare with -Oz or with a search. Anybody with
    the printed address can use the page. See docs/guides/explorer.md. Ctrl-C ends the server.

    \b
    Examples:
      compiler-gym explore
      compiler-gym explore program.c
      compiler-gym explore sha256 --port 8080 --no-browser
      compiler-gym explore --public --public-name example.org --port 8080
    """  # noqa: D301
    for name in EXTRAS["explorer"]:
        require(name)
    # Not above: these packages are optional.
    from compiler_gym.explorer.limits import LOCAL, PUBLIC
    from compiler_gym.explorer.server import PAGE, ExplorerServer, new_token
    from compiler_gym.explorer.workbench import Workbench

    if not (PAGE / "index.html").is_file():
        raise FileNotFoundError(
            "The page of the explorer is not built: install the wheel, or run "
            "bazel run //compiler_gym/explorer:compiler-gym -- explore in the source tree"
        )
    with working_on("starting the explorer"):
        uri = None if program is None else program_uri(program)
        bench = Workbench(PUBLIC if public else LOCAL, uri)
    try:
        token = "" if public else new_token()
        server = ExplorerServer(bench, token, host, port, PAGE, public_name)
        print_line(server.url)
        if not _is_loopback(host) and not public:
            messages().print("Everybody who learns this address can use the page.")
        if browser or (browser is None and not public and not public_name):
            webbrowser.open(server.url)
        server.run()
    finally:
        bench.close()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
