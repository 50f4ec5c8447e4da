"""The project's test rules."""

load(":compiled_python.bzl", "compiled_python")

def pytest_test(name, srcs, deps = [], data = [], args = [], env = {}, **kwargs):
    """Test files run by pytest in the repository's virtual environment, in one process.

    To start takes longer than most tests do: small files that need the same belong in one target.

    Args:
      name: of the target.
      srcs: the test files, whose names end in _test.py, and helper modules beside them.
      deps: Python libraries, besides `tests/effort.py`.
      data: files needed at run time.
      args: of pytest.
      env: environment variables of the test.
      **kwargs: as of py_test.
    """
    compiled = name + "_compiled"
    compiled_python(
        name = compiled,
        testonly = True,
        deps = deps + ["//tests:effort"],
    )
    native.py_test(
        name = name,
        srcs = srcs + ["//tools:pytest_main.py"],
        main = "//tools:pytest_main.py",
        args = ["$(rootpath %s)" % src for src in srcs if src.endswith("_test.py")] + args,
        data = data + [
            compiled,
            "//third_party:requirements.txt",
        ],
        deps = deps + ["//tests:effort"],
        env = env,
        python_version = "PY3",
        srcs_version = "PY3",
        **kwargs
    )
