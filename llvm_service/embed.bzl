"""The rules that embed data files into programs."""

def embedded_text(name, src, constant, namespace = "llvm_service"):
    """A header NAME.h beside a file, with the file's text as a constant.

    Args:
      name: of the target and, below the file's folder, the header.
      src: the file.
      constant: of type const char[].
      namespace: where the constant is, within compiler_gym.
    """
    _header(name, src, namespace, """
  printf 'constexpr char %s[] = R"embedded('
  cat $<
  echo ')embedded";'
""" % constant)

def embedded_texts(name, srcs, constant, namespace = "llvm_service"):
    """A header actions/NAME.h with the texts of files as a constant.

    Args:
      name: of the target and the header.
      srcs: the target of the files.
      constant: an array of pairs: the name of a file without its ending, and its text.
      namespace: where the constant is, within compiler_gym.
    """
    _header(name, srcs, namespace, """
  echo 'struct { const char* name; const char* text; } constexpr %s[] = {'
  for file in $(SRCS); do
    printf '{"%%s", R"embedded(' "$$(basename "$${file%%.*}")"
    cat "$$file"
    echo ')embedded"},'
  done
  echo '};'
""" % constant)

def _header(name, src, namespace, constant):
    native.genrule(
        name = name,
        srcs = [src],
        outs = ["actions/%s.h" % name],
        cmd = """
{
  echo '#pragma once'
  echo 'namespace compiler_gym::%s {'
%s
  echo '}  // namespace compiler_gym::%s'
} > $@
""" % (namespace, constant, namespace),
    )
