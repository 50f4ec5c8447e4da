"""The rule that compiles the built-in programs."""

# As KernelsDataset compiles them, in their folder: the path of the source is part of the bitcode.
_OPTIONS = "-O2 -Xclang -disable-llvm-passes -std=c11 -w"

def unoptimised_bitcode(name, srcs):
    """Makes a bitcode file beside each source, with the clang of the LLVM that services are built with.

    Args:
      name: of the target.
      srcs: C files in folders of this package, each of which has its own.
    """
    native.genrule(
        name = name,
        srcs = srcs,
        outs = [src[:-len(".c")] + ".bc" for src in srcs],
        # As clang does by itself on the machine that runs it.
        cmd = "root=$$PWD\n" + select({
            "@llvm//:is_arm64": """
target="--target=aarch64-unknown-linux-gnu --sysroot=$$(head -n 1 $(location @arm64//:sysroot.txt))"
""",
            "//conditions:default": "target=\n",
        }) + """
for source in $(SRCS); do
  output=$(RULEDIR)/$${source#%s/}
  (cd "$$(dirname "$$source")" &&
    "$$root/$(location @llvm//:bin/clang)" $$target %s "$$(basename "$$source")" \\
        -c -emit-llvm -o "$$root/$${output%%.c}.bc")
done
""" % (native.package_name(), _OPTIONS),
        tools = ["@llvm//:bin/clang"] + select({
            "@llvm//:is_arm64": ["@arm64//:sysroot.txt"],
            "//conditions:default": [],
        }),
    )
