"""Writes a C program that calls a function of textual IR with random inputs."""

import re
from dataclasses import dataclass

from compiler_gym.mine.pure_functions import PURE_FUNCTIONS, RESERVED_FUNCTIONS

HARNESS = "harness.c"
"""The name of the program's file."""
ENTRY = "mined_function"
"""The name that the function has in the program."""

# Attributes with arguments, e.g. "range(i32 0, 5)". They are nested at most once.
_IN_PARENTHESES = re.compile(r"(\w+)\((?:[^()]|\([^()]*\))*\)(?=[ ,)]|$)")
_FUNCTION = r"^{keyword} (?P<before>[^@\n]*?)@(?P<name>[\w.$-]+|\"[^\"]+\")\((?P<rest>.*)$"
_DEFINE = re.compile(_FUNCTION.format(keyword="define"), re.MULTILINE)
_DECLARE = re.compile(_FUNCTION.format(keyword="declare"), re.MULTILINE)
_GLOBAL = re.compile(
    r"^@([\w.$-]+|\"[^\"]+\") = (?:[a-z_]+ )*?external (?P<rest>.*)$", re.MULTILINE
)
_GROUP = re.compile(r"^attributes (#\d+) = \{(.*)\}$", re.MULTILINE)

_TYPES = {
    "void": "void",
    "i1": "_Bool",
    "i8": "uint8_t",
    "i16": "uint16_t",
    "i32": "uint32_t",
    "i64": "uint64_t",
    "float": "float",
    "double": "double",
    "ptr": "void *",
}
_MAX_PARAMETERS = 16
_RESULT = re.compile(
    r"^(\d+) (?:([0-9a-f]{16}) (\d+)|(takes too long|ended with \d+))$", re.MULTILINE
)
INPUTS = 60
"""The number of random inputs."""
MIN_INPUTS = 10
"""The number of inputs for which a function must come to its end."""


class NoHarnessError(ValueError):
    """A function cannot be called with random inputs. The text says why."""


@dataclass(frozen=True)
class Signature:
    """The types of a function.

    Attributes:
        name: The symbol.
        result: The C type of its result.
        parameters: The C types of its parameters.
        tail: What IR says behind the parameters: attributes.
    """

    name: str
    result: str
    parameters: tuple[str, ...]
    tail: str


def write_harness(module: str, function: str) -> str:
    """Returns the C program, which defines what the module only declares.

    Of the C library, the function really calls those of :data:`PURE_FUNCTIONS`. Others only record
    their arguments, and return something that depends on these.

    Its arguments are the number of repetitions, and the inputs, which are numbers as well. It
    prints a line for each input: the number, a digest of what the function returns, writes and
    calls, and a cost; or that it ended in another way.

    With 0 repetitions, the cost is the number of instructions that the function counts by
    ``mined_left``. When that is negative, it calls ``mined_over``. Otherwise, the cost is the time
    of all repetitions in nanoseconds, with the time to restore the buffers that the function
    changes.

    Args:
        module: The textual IR.
        function: The symbol.

    Raises:
        NoHarnessError: If that is impossible.
    """
    found = [_signature(each) for each in _DEFINE.finditer(module)]
    signature = next((each for each in found if each.name == function), None)
    if signature is None:
        raise NoHarnessError(f"the module does not define {function}")
    groups = dict(_GROUP.findall(module))
    stubs = [_stub(each, groups) for each in map(_signature, _DECLARE.finditer(module))]
    names = [each[1].strip('"') for each in _GLOBAL.finditer(module)]
    if any(" thread_local" in each[0] for each in _GLOBAL.finditer(module)):
        raise NoHarnessError("it uses a variable of a thread")
    externs = [
        f'unsigned char g{index}[SIZE] __asm__("{name}") __attribute__((aligned(64)));'
        for index, name in enumerate(names)
    ]
    fills = [f"  fill(g{index}, {index});" for index in range(len(names))]
    others = ", ".join(f"g{index}" for index in range(len(names)))
    ends = [f"  mix_bytes(g{index});" for index in range(len(names))]
    arguments = [_argument(each, index) for index, each in enumerate(signature.parameters)]
    call = f"{ENTRY}({', '.join(arguments)})"
    if signature.result == "void":
        call = f"{call};"
    elif signature.result == "void *":
        call = f"mix_pointer({call});"
    elif signature.result in ("float", "double"):
        call = f"{{ double result = {call}; mix_double(result); }}"
    else:
        call = f"mix({call});"
    pieces = {
        "declaration": f"{signature.result} {ENTRY}({', '.join(signature.parameters) or 'void'});",
        "stubs": "\n".join((*filter(None, stubs),)),
        "externs": "\n".join(externs),
        "buffers": str(len(names)),
        "others": others or "0",
        "fills": "\n".join(fills),
        "call": call,
        "ends": "\n".join(ends),
    }
    text = _PROGRAM
    for key, value in pieces.items():
        text = text.replace(f"@{key}@", value)
    return text


@dataclass(frozen=True)
class Result:
    """The result of a call.

    Attributes:
        text: A digest of what the function does, or how it ended.
        cost: The instructions or nanoseconds.
        is_defined: Whether it came to its end.
    """

    text: str
    cost: int
    is_defined: bool


def read_results(printed: str) -> dict[str, Result]:
    """Returns the results that a harness has printed, by the number of the input."""
    found = {}
    for match in _RESULT.finditer(printed):
        number, digest, cost, other = match.groups()
        found[number] = Result(digest or other, int(cost or 0), is_defined=other is None)
    return found


def _signature(match: "re.Match[str]") -> Signature:
    rest = _IN_PARENTHESES.sub(r"\1", match["rest"])
    parameters, _, tail = rest.partition(")")
    words = [each.split() for each in parameters.split(",") if each.strip()]
    if len(words) > _MAX_PARAMETERS:
        raise NoHarnessError(f"it has more than {_MAX_PARAMETERS} parameters")
    result = _IN_PARENTHESES.sub(r"\1", match["before"]).split()[-1]
    name = match["name"].strip('"')
    types = tuple(_c_type(each, name) for each in words)
    return Signature(name, _c_type([result], name), types, tail)


def _c_type(words: list[str], name: str) -> str:
    """Returns the C type of a parameter, whose attributes follow its type in IR."""
    if {"byval", "sret", "inreg", "swiftself", "nest"} & {*words}:
        raise NoHarnessError(f"{name} has a parameter that is passed in a special way")
    if words[0] not in _TYPES and words[0] != "...":
        raise NoHarnessError(f"{name} has a parameter or result of the type {words[0]}")
    kind = _TYPES.get(words[0], "...")
    return kind.removeprefix("u") if "signext" in words else kind


def _stub(signature: Signature, groups: dict[str, str]) -> str:
    """Returns the definition of a function that is only declared; none for pure ones of libc."""
    name = signature.name
    if name.startswith("llvm.") or name in PURE_FUNCTIONS:
        return ""
    if name in RESERVED_FUNCTIONS:
        raise NoHarnessError(f"it calls {name}, which cannot be replaced")
    kinds = [kind for kind in signature.parameters if kind != "..."]
    is_variadic = len(kinds) < len(signature.parameters)
    if is_variadic and not kinds:
        raise NoHarnessError(f"it calls {name}, whose parameters are not known")
    attributes = signature.tail + " ".join(
        text for group, text in groups.items() if re.search(rf"{group}\b", signature.tail)
    )
    is_pure = "memory(none)" in attributes or "memory(read" in attributes
    parameters = [f"{kind} p{index}" for index, kind in enumerate(kinds)] + ["..."] * is_variadic
    mixes = [_mix(kind, f"p{index}") for index, kind in enumerate(kinds)]
    result = signature.result
    head = f"{result} stub_{_identifier(name)}({', '.join(parameters) or 'void'})"
    lines = [f'{head} __asm__("{name}");', f"{head} {{", "  uint64_t before = digest;"]
    if is_pure:
        lines.append("  digest = 7;")
    lines += [f"  {each}" for each in mixes]
    lines.append("  uint64_t value = digest * 0x9E3779B97F4A7C15u >> 17;")
    if is_pure:
        lines.append("  digest = before;")
    if "noreturn" in attributes:
        lines.append("  report();")
    lines.append("  (void)before; (void)value;")
    if result == "void *":
        lines.append("  return region + value % (SIZE / 2);")
    elif result != "void":
        lines.append(f"  return ({result})value;")
    return "\n".join([*lines, "}"])


def _identifier(name: str) -> str:
    return re.sub(r"\W", lambda each: f"_{ord(each[0]):x}_", name)


def _mix(kind: str, value: str) -> str:
    if kind == "void *":
        return f"mix_pointer({value});"
    if kind in ("float", "double"):
        return f"mix_double({value});"
    return f"mix({value});"


def _argument(kind: str, index: int) -> str:
    if kind == "void *":
        return f"region + {index + 1} * SIZE"
    if kind in ("float", "double"):
        return f"({kind})(int64_t)scalar() / 8"
    return f"({kind})scalar()"


_PROGRAM = """\
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MICROSECONDS
#define MICROSECONDS 5000
#endif
enum { SIZE = 4096, LINE = 64, BUFFERS = 18, OTHERS = @buffers@, MAX_STEPS = 100000 };
static unsigned char *const region = (unsigned char *)0x20000000;
static uint64_t state, digest, number, repeats, elapsed;
int64_t mined_left = MAX_STEPS;

static uint64_t next(void) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  return state * 0x2545F4914F6CDD1Du;
}
static void mix(uint64_t value) { digest = (digest ^ value) * 0x100000001B3u + 1; }
static void mix_double(double value) {
  uint64_t bits;
  if (value != value) value = 0.0 / 1.0 + 42;
  memcpy(&bits, &value, 8);
  mix(bits);
}
static int is_inside(uint64_t value) {
  return value >= (uint64_t)region && value < (uint64_t)region + BUFFERS * SIZE;
}
/* The stack and the heap may be elsewhere each time. */
static void mix_pointer(const void *value) {
  mix(value == 0 ? 0 : is_inside((uint64_t)value) ? (uint64_t)value : 1);
}
static void mix_bytes(const unsigned char *bytes) {
  for (int i = 0; i < SIZE; i += 8) {
    uint64_t value;
    memcpy(&value, bytes + i, 8);
    mix(value);
  }
}
static uint64_t scalar(void) {
  static const uint64_t special[] = {0, 1, 2, 255, 127, 128, 0x7fffffff, 0x80000000, -1, -2};
  uint64_t value = next();
  switch (value % 8) {
    case 0: return special[(value >> 8) % 10];
    case 1: return (value >> 8) % 64;
    case 2: case 3: return (value >> 8) % 4;
    case 4: case 5: return (value >> 8) % 16;
    default: return next();
  }
}
/* By the number of the input: small numbers, anything, zeros, and pointers to such bytes. */
static void fill(unsigned char *bytes, int index) {
  for (int i = 0; i < SIZE; i += 8) {
    uint64_t value = 0;
    switch ((number + index) % 4) {
      case 0: value = next() % 4 ? next() % 8 : 0; break;
      case 1: value = next(); break;
      case 2: value = (uint64_t)region + next() % (BUFFERS * SIZE / 2) / 8 * 8; break;
      default: value = next() % 8 ? 0x0101010101010101u * (next() % 3) : next();
    }
    memcpy(bytes + i, &value, 8);
  }
}
static void report(void) {
  uint64_t cost = repeats ? elapsed : MAX_STEPS - (uint64_t)mined_left;
  /* The function may replace printf() and stdout. */
  dprintf(1, "%llu %016llx %llu\\n", (unsigned long long)number, (unsigned long long)digest,
          (unsigned long long)cost);
  _exit(0);
}
void mined_over(void) {
  dprintf(1, "%llu takes too long\\n", (unsigned long long)number);
  _exit(0);
}
@declaration@
@externs@
@stubs@
static void call(void) {
  digest = 1;
  @call@
}
static unsigned char *buffer(int i) {
  static unsigned char *const others[] = {@others@};
  return i < BUFFERS ? region + i * SIZE : others[i - BUFFERS];
}
static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000ull + time.tv_nsec;
}
/* Calls it again and again with the same input: the lines that it has changed are restored. The
   fence waits for these stores: loads of other widths would wait for them in the function. */
static void measure(uint64_t at_call) {
  enum { LINES = (BUFFERS + OTHERS) * (SIZE / LINE) };
  static unsigned char saved[LINES][LINE], *places[LINES];
  static int changed[LINES];
  int count = 0;
  for (int i = 0; i < LINES; i++) {
    places[i] = buffer(i / (SIZE / LINE)) + i % (SIZE / LINE) * LINE;
    memcpy(saved[i], places[i], LINE);
  }
  call();
  for (int i = 0; i < LINES; i++) {
    if (memcmp(saved[i], places[i], LINE)) changed[count++] = i;
  }
  uint64_t begin = now();
  for (uint64_t left = repeats; left; left--) {
    for (int i = 0; i < count; i++) memcpy(places[changed[i]], saved[changed[i]], LINE);
    state = at_call;
    __sync_synchronize();
    call();
  }
  elapsed = now() - begin;
}
static void run(void) {
  state = number * 0x9E3779B97F4A7C15u + 1;
  for (int i = 0; i < BUFFERS; i++) fill(region + i * SIZE, i);
@fills@
  if (repeats) {
    measure(state);
  } else {
    call();
  }
  for (int i = 0; i < BUFFERS; i++) mix_bytes(region + i * SIZE);
@ends@
  report();
}
int main(int argc, char **argv) {
  void *got = mmap(region, BUFFERS * SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (argc < 3 || got != region) return 2;
  repeats = strtoul(argv[1], 0, 10);
  for (int i = 2; i < argc; i++) {
    number = strtoul(argv[i], 0, 10);
    pid_t child = fork();
    if (child == 0) {
      struct itimerval limit = {{0, 0}, {0, MICROSECONDS}};
      if (!repeats) setitimer(ITIMER_VIRTUAL, &limit, 0);
      run();
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM) {
      dprintf(1, "%llu takes too long\\n", (unsigned long long)number);
    } else if (status != 0) {
      dprintf(1, "%llu ended with %d\\n", (unsigned long long)number, status);
    }
  }
  return 0;
}
"""
