"""The rule that embeds data files into programs."""

def embedded_text(name, src, constant, namespace = "llvm_service"):
    """A header NAME.h beside a file, with the file's text as a constant.

    Args:
      name: of the target and, below the file's folder, the header.
      src: the file.
      constant: of type const char[].
      namespace: where the constant is, within compiler_gym.
    """
    native.genrule(
        name = name,
        srcs = [src],
        outs = ["actions/%s.h" % name],
        cmd = """
{
  echo '#pragma once'
  echo 'namespace compiler_gym::%s {'
  printf 'constexpr char %s[] = R"embedded('
  cat $<
  echo ')embedded";'
  echo '}  // namespace compiler_gym::%s'
} > $@
""" % (namespace, constant, namespace),
    )
