"""A generator of programs that break where a compiler does not keep to the rules of its target.

Each program is a library, in C and in C++, a caller, which another compiler compiles, and functions
that take the place of some of the library. What it prints depends on no rule that a linker or a
compiler may choose, so two compilers without any of the changes under test must agree on it.
"""

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from tests.tuning.size import special_functions
from tests.tuning.size.special_functions import (
    DEEP,
    DEPTH,
    NOT_STEPPED,
    NOT_UNWOUND,
    STEPPED,
    Words,
    Writer,
)

_HERE = Path(__file__).parent / "codegen"

_PRELUDE = """\
typedef unsigned long long u64;
#define NOINLINE __attribute__((noinline))
#if defined(__clang__)
#define MUSTTAIL __attribute__((musttail))
#else
#define MUSTTAIL
#endif
#if defined(__cplusplus)
#define API extern "C"
#else
#define API
#endif
#if defined(SHARED)
#define IN_PROGRAM(model) "initial-exec"
#else
#define IN_PROGRAM(model) model
#endif
#if defined(__x86_64__)
#define OVERWRITE(x) __asm__ volatile("movq $1, %%rax; movq $2, %%rbx; movq $3, %%r11; movq $4, " \\
  "%%r12; movq $5, %%r10; addq $9, %0" : "+r"(x) : : "rax", "rbx", "r10", "r11", "r12", "cc")
#else
#define OVERWRITE(x) __asm__ volatile("mov x9, 1; mov x16, 2; mov x17, 3; mov x19, 4; " \\
  "mov x20, 5; add %0, %0, 9" : "+r"(x) : : "x9", "x16", "x17", "x19", "x20", "cc")
#endif
API u64 back(u64);
API u64 call_back(u64 (*)(u64), u64);
"""
_FEATURES = (_HERE / "features.h").read_text(encoding="utf-8")

# Kinds of special functions, with the beginning of their names.
_SPECIAL: dict[str, tuple[str, Writer]] = {
    "special": (STEPPED, special_functions.special),
    "frame": (STEPPED, special_functions.frame),
    "borrowed frame": (NOT_STEPPED, special_functions.borrowed_frame),
    # Clang's tables are late in the prologues of those that save vectors.
    "conventions": (NOT_STEPPED, special_functions.conventions),
    "naked": (STEPPED, special_functions.naked),
    "leave": (STEPPED, special_functions.leave),
    "from assembly": (NOT_UNWOUND, special_functions.from_assembly),
    "interrupt": (NOT_UNWOUND, special_functions.interrupt),
    "deep": (DEEP, special_functions.deep),
    "coroutine": (STEPPED, special_functions.coroutine),
}
SPECIAL_KINDS = tuple(_SPECIAL)
"""The kinds of special functions that a program may have."""

SPECIAL_CONTENTS = "special contents"
"""All that a search leaves as it is, and whose sources get no options for all functions."""


@dataclass(frozen=True)
class GeneratedProgram:
    """Sources by file name.

    Attributes:
        library: What is compiled with the changes under test.
        caller: What calls it, and is compiled by another compiler. ``checked.S`` is assembly.
        override: Functions in place of some of the library.
        modes: The first argument of each run.
        input: What is on the standard input of each run.
    """

    library: dict[str, str]
    caller: dict[str, str]
    override: dict[str, str] = field(default_factory=dict)
    modes: tuple[str, ...] = ("plain", "step", "alarm", "backtrace")
    input: str = ""


def generate(seed: int, machine: str = "x86_64", without: Collection[str] = ()) -> GeneratedProgram:
    """Returns the program of a seed.

    Args:
        seed: Any number. The library depends on nothing else but what it is to be without.
        machine: ``x86_64`` or ``aarch64``.
        without: Some of :data:`SPECIAL_KINDS`, "stack" for statements that compare addresses with
            the stack pointer, or :data:`SPECIAL_CONTENTS` for all of these, inline assembly and
            ``setjmp``.
    """
    writer = _Writer(random.Random(seed))
    writer.write(has_special=SPECIAL_CONTENTS not in without)
    # With choices of its own, so that the other functions of a seed stay what they were.
    if SPECIAL_CONTENTS not in without:
        writer.write_special(random.Random(f"special {seed}"), without)
    caller = {
        "functions.h": "".join(f"FUNCTION({name})\n" for name in writer.functions),
        "main.c": (_HERE / "main.c").read_text(encoding="utf-8"),
        "checked.S": (_HERE / f"checked_{machine}.S").read_text(encoding="utf-8"),
    }
    prelude = f"{_PRELUDE}#define DEPTH {DEPTH}\n{_FEATURES}"
    library = {"library.c": prelude + writer.c, "classes.cc": prelude + writer.classes}
    return GeneratedProgram(library, caller, {"override.c": _PRELUDE + writer.override})


class _Writer:
    """Writes functions from u64 to u64, and helpers that they call."""

    def __init__(self, choose: random.Random):
        self.c = "#include <setjmp.h>\n#include <stdarg.h>\n#include <string.h>\n"
        self.classes = ""
        self.override = ""
        self.functions: list[str] = []
        self._choose = choose
        self._callees: list[str] = ["back"]
        self._blocks: list[str] = []

    def write(self, has_special: bool) -> None:
        for number in range(self._choose.randint(3, 5)):
            self._helper(number)
        kinds: list[Callable[[str], str]] = [
            self._live,
            self._live,
            self._twin,
            self._threads,
            self._jump,
            self._arguments,
            self._tail,
            self._assembly,
            self._memory,
            self._floats,
            self._switch,
            self._leaf,
            self._recursion,
        ]
        self._choose.shuffle(kinds)
        if not has_special:
            kinds = [each for each in kinds if each not in (self._jump, self._assembly)]
        for number, kind in enumerate(kinds):
            name = f"f{number}"
            self.c += kind(name)
            self.functions.append(name)
            self._callees += [name] if kind in (self._leaf, self._switch) else []
        for number in range(self._choose.randint(1, 3)):
            self.classes += self._exceptions(f"x{number}")
            self.functions.append(f"x{number}")

    def write_special(self, choose: random.Random, without: Collection[str]) -> None:
        """Adds functions with special contents."""
        names = [each for each in SPECIAL_KINDS if each not in without and choose.random() < 0.6]
        names += ["special"] if choose.random() < 0.6 else []
        for number, each in enumerate(names):
            prefix, write = _SPECIAL[each]
            name = f"{prefix}s{number}"
            if each == "coroutine":
                self.classes += write(Words(choose, ["back"]), name)
            else:
                words = Words(choose, self._callees, has_stack="stack" not in without)
                self.c += write(words, name)
            self.functions.append(name)

    # Words.

    def _constant(self) -> str:
        return f"{self._choose.getrandbits(self._choose.choice([4, 7, 8, 31, 32, 64]))}u"

    def _expression(self, names: list[str]) -> str:
        one, other = (self._choose.choice(names) for _ in range(2))
        shift = self._choose.randint(1, 62)
        return self._choose.choice(
            [
                f"{one} + {other} * {self._constant()}",
                f"({one} ^ {other}) + {self._constant()}",
                f"({one} << {shift} | {one} >> {64 - shift}) ^ {other}",
                f"{one} * 3 - {other}",
                f"({one} < {other} ? {one} + 7 : {other} ^ {self._constant()})",
                f"({one} & {self._constant()}) | {other}",
                f"{one} / ({other} % 1000 + 1) + {one} % ({other} | 1)",
                f"(u64)((long long){one} >> {shift}) + {other}",
                f"(u64)(unsigned){one} * (unsigned char){other} + {one}",
            ]
        )

    def _statements(self, names: list[str], count: int) -> str:
        return "".join(
            f"  {self._choose.choice(names)} = {self._expression(names)};\n" for _ in range(count)
        )

    def _calls(self, names: list[str], count: int) -> str:
        """Calls between which all variables live."""
        text = ""
        for _ in range(count):
            to, argument = (self._choose.choice(names) for _ in range(2))
            text += f"  {to} += {self._choose.choice(self._callees)}({argument});\n"
            if self._choose.random() < 0.3:
                text += self._statements(names, 1)
        return text

    def _variables(self, count: int) -> tuple[list[str], str]:
        names = [f"v{number}" for number in range(count)]
        text = "".join(
            f"  u64 {name} = x * {2 * number + 1} + {self._constant()};\n"
            for number, name in enumerate(names)
        )
        return names, text

    def _sum(self, names: list[str]) -> str:
        return " ^ ".join(f"{name} * {2 * number + 1}" for number, name in enumerate(names))

    # What is called.

    def _helper(self, number: int) -> None:
        name, body = f"put{number}", self._expression(["x", "x"])
        kind = self._choose.choice(["exported", "weak", "local", "hidden", "defaulted"])
        marks = {
            "exported": "NOINLINE",
            "weak": "__attribute__((weak))",
            "local": "static NOINLINE",
            "hidden": '__attribute__((visibility("hidden")))',
            "defaulted": "",
        }[kind]
        self.c += f"{marks} u64 {name}(u64 x) {{ return {body}; }}\n"
        self._callees.append(name)
        # A library that comes earlier; in all other programs there is no second definition.
        if kind in ("weak", "exported", "defaulted"):
            self.override += f"u64 {name}(u64 x) {{ return {self._expression(['x'])}; }}\n"

    # Functions.

    def _live(self, name: str) -> str:
        names, text = self._variables(self._choose.randint(5, 16))
        calls = self._calls(names, self._choose.randint(2, 5))
        loop = self._choose.randint(2, 4)
        text += f"  for (int i = 0; i < {loop}; i++) {{\n  v0 += i;\n{calls}  }}\n"
        return f"u64 {name}(u64 x) {{\n{text}  return {self._sum(names)};\n}}\n"

    def _twin(self, name: str) -> str:
        """Has long equal parts, which an outliner takes out of each."""
        names, text = self._variables(6)
        equal = self._statements(names, 10)
        calls = [self._calls(names, 2) for _ in range(3)]
        total = self._sum(names)
        first = f"static NOINLINE u64 {name}_one(u64 x) {{\n{text}{equal}{calls[0]}{equal}"
        second = f"static NOINLINE u64 {name}_two(u64 x) {{\n{text}{calls[1]}{equal}{calls[2]}"
        return (
            f"{first}  return {total};\n}}\n{second}  return {total};\n}}\n"
            f"u64 {name}(u64 x) {{ return {name}_one(x) ^ {name}_two(x + 1); }}\n"
        )

    def _threads(self, name: str) -> str:
        names, text = self._variables(self._choose.randint(6, 12))
        model = self._choose.choice(["global-dynamic", "initial-exec"])
        local = self._choose.choice(["local-dynamic", "initial-exec", "local-exec"])
        chosen = f'IN_PROGRAM("{local}")' if local == "local-exec" else f'"{local}"'
        calls = [self._calls(names, 1) for _ in range(3)]
        return (
            f"extern __thread u64 tls_of_main;\n"
            f'__thread u64 {name}_shown __attribute__((tls_model("{model}"))) = 3;\n'
            f"static __thread u64 {name}_kept __attribute__((tls_model({chosen}))) = 4;\n"
            f"u64 {name}(u64 x) {{\n{text}"
            f"  {name}_shown = x;\n{calls[0]}  {name}_kept = v0 + {name}_shown;\n{calls[1]}"
            f"  tls_of_main = {name}_kept ^ v1;\n{calls[2]}"
            f"  return {self._sum(names)} ^ {name}_shown ^ {name}_kept ^ tls_of_main;\n}}\n"
        )

    def _jump(self, name: str) -> str:
        names, text = self._variables(self._choose.randint(4, 9))
        calls = self._calls(names[1:], 2)
        return (
            f"static jmp_buf {name}_place;\n"
            f"static NOINLINE u64 {name}_deep(u64 x) {{\n{text}{calls}"
            f"  if (v1 & 3) longjmp({name}_place, 1 + (int)(v1 & 0xff));\n"
            f"  return {self._sum(names)};\n}}\n"
            f"u64 {name}(u64 x) {{\n{text}"
            f"  volatile u64 tries = 0;\n"
            f"  const int came = setjmp({name}_place);\n"
            f"  tries++;\n"
            f"  if (tries < 4) tries += {name}_deep(x + tries + (u64)came) & 1;\n"
            f"  return {self._sum(names)} ^ tries ^ (u64)came;\n}}\n"
        )

    def _arguments(self, name: str) -> str:
        kinds = [self._choose.choice("udi") for _ in range(self._choose.randint(5, 14))]
        reads = {
            "u": "sum += va_arg(list, u64);",
            "i": "sum ^= (u64)va_arg(list, int);",
            "d": "sum += (u64)(va_arg(list, double) * 4);",
        }
        values = {"u": "x * {0} + 1", "i": "(int)(x % 1000) + {0}", "d": "(double)(x % 999) + {0}"}
        given = ", ".join(values[kind].format(number + 2) for number, kind in enumerate(kinds))
        body = "\n  ".join(reads[kind] for kind in kinds)
        return (
            f"static NOINLINE u64 {name}_list(u64 sum, va_list list) {{\n  {body}\n"
            f"  return sum;\n}}\n"
            f"NO_SPLIT_STACK NOINLINE u64 {name}_all(u64 first, ...) {{\n  va_list list, again;\n"
            f"  va_start(list, first);\n  va_copy(again, list);\n"
            f"  u64 sum = {name}_list(first, list);\n  sum = sum * 3 + {name}_list(sum, again);\n"
            f"  va_end(again);\n  va_end(list);\n  return sum;\n}}\n"
            f"u64 {name}(u64 x) {{ return {name}_all(x, {given}) ^ {name}_all(x + 1, {given}); }}\n"
        )

    def _tail(self, name: str) -> str:
        states = self._choose.randint(2, 4)
        text = f"typedef u64 {name}_state(u64 x, u64 n, u64 a, u64 b);\n"
        text += "".join(f"static {name}_state {name}_s{state};\n" for state in range(states))
        for state in range(states):
            one, other = (f"{name}_s{self._choose.randrange(states)}" for _ in range(2))
            text += (
                f"static NOINLINE u64 {name}_s{state}(u64 x, u64 n, u64 a, u64 b) {{\n"
                f"  if (!n) return x ^ a ^ b;\n"
                f"  if (x & 1)\n"
                f"    MUSTTAIL return {one}({self._expression(['x', 'a'])}, n - 1, b, a);\n"
                f"  MUSTTAIL return {other}({self._expression(['x', 'b'])}, n - 1, a + 1, x);\n}}\n"
            )
        steps = self._choose.randint(40, 90)
        return f"{text}u64 {name}(u64 x) {{ return {name}_s0(x, {steps}, x + 1, x + 2); }}\n"

    def _assembly(self, name: str) -> str:
        names, text = self._variables(self._choose.randint(5, 11))
        parts = [self._calls(names, 1) + self._statements(names, 1) for _ in range(3)]
        overwrites = [f"  OVERWRITE({self._choose.choice(names)});\n" for _ in range(2)]
        body = parts[0] + overwrites[0] + parts[1] + overwrites[1] + parts[2]
        return f"u64 {name}(u64 x) {{\n{text}{body}  return {self._sum(names)};\n}}\n"

    def _memory(self, name: str) -> str:
        names, text = self._variables(4)
        size = self._choose.randint(3, 40)
        fill = self._choose.randint(0, 255)
        return (
            f"struct {name}_pair {{ u64 a; unsigned char bytes[{size}]; double d; }};\n"
            f"static NOINLINE struct {name}_pair {name}_make(struct {name}_pair old, u64 x) {{\n"
            f"  old.a += x;\n  old.bytes[x % {size}] ^= 1;\n  old.d += 1;\n  return old;\n}}\n"
            f"u64 {name}(u64 x) {{\n{text}"
            f"  const int count = {size} + (int)(x % 5);\n  unsigned char some[count];\n"
            f"  struct {name}_pair pair;\n  memset(&pair, {fill}, sizeof pair);\n  pair.d = 0.5;\n"
            f"  memset(some, {fill}, (unsigned)count);\n  memcpy(some, &v1, {min(size, 8)});\n"
            f"  memmove(some + 1, some, {size - 1});\n"
            f"{self._calls(names, 2)}"
            f"  for (int i = 0; i < 5; i++) pair = {name}_make(pair, v2 + some[i % count]);\n"
            f"  for (int i = 0; i < {size}; i++) v3 = v3 * 31 + pair.bytes[i] + some[i];\n"
            f"  return {self._sum(names)} ^ pair.a ^ (u64)pair.d;\n}}\n"
        )

    def _floats(self, name: str) -> str:
        names, text = self._variables(4)
        count = self._choose.randint(4, 11)
        doubles = "".join(
            f"  double d{number} = (double)(x % {97 + number}) * {number + 1};\n"
            for number in range(count)
        )
        steps = "".join(
            f"  d{self._choose.randrange(count)} += d{self._choose.randrange(count)} * 0.5 + "
            f"(double)({self._choose.choice(self._callees)}(v{self._choose.randrange(4)}) & 63);\n"
            for _ in range(4)
        )
        # Multiples of 1/16 below 2^30: exact with and without fused operations.
        total = " + ".join(f"d{number}" for number in range(count))
        return (
            f"u64 {name}(u64 x) {{\n{text}{doubles}{steps}"
            f"  return (u64)(({total}) * 16) ^ {self._sum(names)};\n}}\n"
        )

    def _switch(self, name: str) -> str:
        names, text = self._variables(3)
        cases = "".join(
            f"    case {number}:\n{self._statements(names, 2)}"
            + (f"{self._calls(names, 1)}" if number % 3 == 0 else "")
            + ("      break;\n" if self._choose.random() < 0.8 else "")
            for number in range(self._choose.randint(4, 12))
        )
        return (
            f"u64 {name}(u64 x) {{\n{text}  for (int i = 0; i < 3; i++) {{\n"
            f"  switch ((v0 >> i) % 13) {{\n{cases}    default: v2++;\n  }}\n  }}\n"
            f"  return {self._sum(names)};\n}}\n"
        )

    def _leaf(self, name: str) -> str:
        """Keeps an array where signals must not write."""
        names, text = self._variables(3)
        size = self._choose.randint(3, 14)
        return (
            f"u64 {name}(u64 x) {{\n{text}  volatile u64 kept[{size}];\n"
            f"  for (int i = 0; i < {size}; i++) kept[i] = v0 + (u64)i;\n"
            f"{self._statements(names, 4)}"
            f"  for (int i = 0; i < {size}; i++) v2 = v2 * 5 + kept[i];\n"
            f"  return {self._sum(names)};\n}}\n"
        )

    def _recursion(self, name: str) -> str:
        names, text = self._variables(4)
        return (
            f"static u64 {name}_odd(u64 x, int depth);\n"
            f"static u64 {name}_even(u64 x, int depth) {{\n{text}"
            f"  if (depth) v0 += {name}_odd({self._expression(names)}, depth - 1);\n"
            f"{self._calls(names, 1)}  return {self._sum(names)};\n}}\n"
            f"static u64 {name}_odd(u64 x, int depth) {{\n"
            f"  return depth ? {name}_even(x ^ 5, depth - 1) * 3 + x : x;\n}}\n"
            f"u64 {name}(u64 x) {{\n"
            f"  u64 (*volatile function)(u64) = {self._choose.choice(self._callees)};\n"
            f"  return {name}_even(x, {self._choose.randint(3, 7)}) ^ call_back(function, x);\n}}\n"
        )

    def _exceptions(self, name: str) -> str:
        names, text = self._variables(self._choose.randint(4, 9))
        thrown = self._choose.choice([f"{name}_error{{x}}", "(int)(x & 0xff)", f"{name}_more(x)"])
        calls = [
            f"      {self._choose.choice(names)} += {name}_try(v{self._choose.randrange(3)} + i);\n"
            for _ in range(2)
        ]
        guards = self._choose.randint(1, 3)
        held = "".join(
            f"      {name}_guard guard{number}{{count, {number + 2}}};\n"
            for number in range(guards)
        )
        return (
            f"struct {name}_error {{ u64 value; }};\n"
            f"struct {name}_more : {name}_error {{ {name}_more(u64 x) : {name}_error{{x + 1}} {{}} "
            f"}};\n"
            f"struct {name}_guard {{\n  u64& count;\n  u64 k;\n"
            f"  ~{name}_guard() {{ count = count * 3 + k; }}\n}};\n"
            f"static NOINLINE u64 {name}_throw(u64 x) {{\n"
            f"  if ((x >> 3) % 3 == 0) throw {thrown};\n"
            f"  return {self._expression(['x'])};\n}}\n"
            f"NOINLINE u64 {name}_try(u64 x) {{\n{text}"
            f"  v1 += call_back({name}_throw, v0) + back(v1);\n"
            f"{self._statements(names, 2)}  return {self._sum(names)};\n}}\n"
            f"API u64 {name}(u64 x) {{\n{text}  u64 count = x;\n"
            f"  for (int i = 0; i < 3; i++) {{\n    try {{\n{held}{calls[0]}"
            f"      try {{\n{calls[1]}      }} catch (int other) {{ v1 ^= (u64)other; throw; }}\n"
            f"    }} catch ({name}_error& error) {{\n      v0 += error.value;\n"
            f"    }} catch (...) {{\n      v2++;\n    }}\n  }}\n"
            f"  return {self._sum(names)} ^ count;\n}}\n"
        )
