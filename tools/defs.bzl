"""The project's test rules."""

def pytest_test(name, srcs, deps = [], data = [], args = [], env = {}, **kwargs):
    """A test file run by pytest in the repository's virtual environment.

    Args:
      name: of the target.
      srcs: the test file, and helper modules beside it.
      deps: Python libraries, besides `tests/effort.py`.
      data: files needed at run time.
      args: of pytest.
      env: environment variables of the test.
      **kwargs: as of py_test.
    """
    native.py_test(
        name = name,
        srcs = srcs + ["//tools:pytest_main.py"],
        main = "//tools:pytest_main.py",
        args = ["$(rootpath %s)" % srcs[0]] + args,
        data = data + ["//third_party:requirements.txt"],
        deps = deps + ["//tests:effort"],
        env = env,
        python_version = "PY3",
        srcs_version = "PY3",
        **kwargs
    )
