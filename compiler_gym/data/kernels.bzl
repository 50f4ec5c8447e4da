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
        cmd = """
root=$$PWD
for source in $(SRCS); do
  output=$(RULEDIR)/$${source#%s/}
  (cd "$$(dirname "$$source")" &&
    "$$root/$(location @llvm//:bin/clang)" %s "$$(basename "$$source")" \\
        -c -emit-llvm -o "$$root/$${output%%.c}.bc")
done
""" % (native.package_name(), _OPTIONS),
        tools = ["@llvm//:bin/clang"],
    )
