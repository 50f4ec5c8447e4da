"""Functions of generated programs with contents that compilers must not treat like others.

Each writer takes a source of choices, a name, and the names of functions that it may call, and
returns C or C++. The statements are macros of ``codegen/features.h``.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

DEPTH = 600_000
"""The depth of recursion: 16 bytes of stack for each call are more than 8 MiB."""

# Names begin with the way in which the caller of the library treats the function.
STEPPED = "f"
NOT_STEPPED = "m"
NOT_UNWOUND = "n"
DEEP = "d"

_STATEMENTS = (
    "OVERWRITE_BASE",
    "CHANGE_BY_FLAGS",
    "CHANGE_IN_MEMORY",
    "OVERWRITE_EARLY",
    "TIED",
    "IMMEDIATES",
    "IN_PLACE",
    "BYTES",
    "FIXED",
    "STRINGS",
    "VECTORS",
    "X87",
    "NAMED_REGISTERS",
    "MANY_REGISTERS",
    "JUMP",
    "JUMP_WITH_RESULT",
    "OTHER_SECTION",
    "LOOP",
    "DYNAMIC",
    "DYNAMIC_ALIGNED",
    "VARIABLE_ARRAYS",
    "ALIGNED",
    "VOLATILES",
    "ATOMICS",
    "COMPUTED_GOTO",
    "WIDE",
    "FOUR",
)
# The address sanitizer and separate stacks for unsafe variables move these variables elsewhere.
_STATEMENTS_ON_THE_STACK = ("CHECK_STACK_POINTER", "CHECK_FRAME_ADDRESS")
_FRAME_STATEMENTS = ("OVERWRITE_FRAME", "OVERWRITE_FRAME_AND_MORE")
_CONVENTIONS = (
    *("preserve_most", "preserve_all", "preserve_none", "regcall", "vectorcall", "ms_abi"),
    *("sysv_abi", "swiftcall", "aarch64_vector_pcs"),
)


@dataclass(frozen=True)
class Words:
    """Random parts of functions.

    Attributes:
        choose: The source of choices.
        callees: Functions from u64 to u64.
        has_stack: Whether addresses of variables are close to the stack pointer.
    """

    choose: random.Random
    callees: Sequence[str]
    has_stack: bool = True

    def variables(self, count: int) -> tuple[list[str], str]:
        """Returns names of variables, and their definitions."""
        names = [f"v{number}" for number in range(count)]
        values = (f"x * {self.choose.getrandbits(12) | 1}u + {number}" for number in range(count))
        lines = (f"  u64 {name} = {value};\n" for name, value in zip(names, values, strict=True))
        return names, "".join(lines)

    def call(self, names: Sequence[str]) -> str:
        """Returns a call between which variables live."""
        to, argument = (self.choose.choice(names) for _ in range(2))
        return f"  {to} += {self.choose.choice(self.callees)}({argument});\n"

    def sum(self, names: Sequence[str]) -> str:
        """Returns an expression with all variables."""
        return " ^ ".join(f"{name} * {2 * number + 1}" for number, name in enumerate(names))


Writer = Callable[[Words, str], str]


def special(words: Words, name: str) -> str:
    """Mixes statements of all kinds with calls."""
    names, text = words.variables(words.choose.randint(3, 9))
    statements = [*_STATEMENTS, *(_STATEMENTS_ON_THE_STACK if words.has_stack else ())]
    for each in words.choose.sample(statements, words.choose.randint(2, 5)):
        if words.choose.random() < 0.5:
            text += words.call(names)
        text += f"  {each}({words.choose.choice(names)});\n"
    if words.choose.random() < 0.3:
        text += f"  ANYWHERE({words.choose.choice(names)}, {words.choose.choice(names)});\n"
    if words.choose.random() < 0.2:
        size = words.choose.choice([200, 4096, 5000, 70_000, 300_000])
        text += f"  HUGE({words.choose.choice(names)}, {size});\n"
    return f"u64 {name}(u64 x) {{\n{text}  return {words.sum(names)};\n}}\n"


def frame(words: Words, name: str) -> str:
    """Overwrites the frame pointer; only the stack pointer leads to a variable."""
    return _frame(words, name, _FRAME_STATEMENTS)


def borrowed_frame(words: Words, name: str) -> str:
    """Overwrites the frame pointer and restores it, without telling the compiler."""
    return _frame(words, name, ("BORROW_FRAME",))


def _frame(words: Words, name: str, statements: Sequence[str]) -> str:
    names, text = words.variables(words.choose.randint(2, 7))
    size = words.choose.randint(1, 20)
    text += f"  volatile u64 kept[{size}];\n  kept[{size - 1}] = x;\n"
    for _ in range(words.choose.randint(0, 30)):
        one, other = (words.choose.randrange(size) for _ in range(2))
        text += f"  kept[{one}] = kept[{other}] * 3 + {words.choose.choice(names)};\n"
    text = text.replace(f"kept[{size}];\n", f"kept[{size}] = {{0}};\n")
    for _ in range(words.choose.randint(1, 3)):
        if words.choose.random() < 0.4:
            text += words.call(names)
        statement, place = words.choose.choice(statements), words.choose.randrange(size)
        text += f"  {{ u64 to; {statement}(to, kept[{place}]); {names[0]} += to; }}\n"
    return f"u64 {name}(u64 x) {{\n{text}  return {words.sum(names)} ^ kept[{size - 1}];\n}}\n"


def from_assembly(words: Words, name: str) -> str:
    """Calls functions from assembly, one of which preserves most registers."""
    convention = words.choose.choice(["preserve_most", "preserve_all"])
    names, text = words.variables(4)
    helper = (
        f'__attribute__((used, visibility("hidden"))) NOINLINE u64 {name}_plain(u64 x) {{\n'
        f"{text}{words.call(names)}  ALIGNED(v1);\n  return {words.sum(names)};\n}}\n"
        f'CONVENTION({convention}) __attribute__((used, visibility("hidden"))) NOINLINE u64 '
        f"{name}_kept(u64 x) {{\n{text}{words.call(names)}  return {words.sum(names)};\n}}\n"
    )
    return (
        f"{helper}u64 {name}(u64 x) {{\n{text}{words.call(names)}"
        f'  PUSH_FRAME(v3);\n  CALL_FROM_ASSEMBLY(v0, "{name}_plain");\n'
        f'#if HAS_CONVENTION({convention})\n  CALL_PRESERVING(v1, "{name}_kept");\n#else\n'
        f"  v1 = {name}_kept(v1);\n  IF_PRESERVED(v1);\n#endif\n"
        f"  return {words.sum(names)};\n}}\n"
    )


def conventions(words: Words, name: str) -> str:
    """Calls functions of several calling conventions, directly and by pointers."""
    text = ""
    names, variables = words.variables(words.choose.randint(4, 10))
    body = variables
    for number, each in enumerate(words.choose.sample(_CONVENTIONS, 4)):
        mine, inner = words.variables(words.choose.randint(2, 6))
        callee = f"{name}_c{number}"
        mark = f"CONVENTION({each})"
        noinline = words.choose.choice(["NOINLINE ", ""])
        text += (
            f"{mark} static {noinline}u64 {callee}(u64 x, u64 y, double d, u64 z) {{\n{inner}"
            f"{words.call(mine)}{words.call(mine)}"
            f"  return ({words.sum(mine)}) + y * 3 + z + (u64)(d * 2);\n}}\n"
        )
        one, other = (words.choose.choice(names) for _ in range(2))
        to = callee
        if words.choose.random() < 0.5:
            body += f"  {mark} u64 (*volatile p{number})(u64, u64, double, u64) = {callee};\n"
            to = f"p{number}"
        body += f"  {one} ^= {to}({other}, {one}, (double)({one} & 255), x);\n"
    return f"{text}u64 {name}(u64 x) {{\n{body}  return {words.sum(names)};\n}}\n"


def naked(words: Words, name: str) -> str:
    """Calls functions without prologue and epilogue, one of which calls others."""
    names, text = words.variables(words.choose.randint(3, 7))
    return (
        f"NAKED_SUM({name}_sum)\nNAKED_CALL({name}_call)\n"
        f"u64 {name}(u64 x) {{\n{text}{words.call(names)}"
        f"  v0 += {name}_sum(v1);\n{words.call(names)}  v2 ^= {name}_call(v0);\n"
        f"  return {words.sum(names)};\n}}\n"
    )


def interrupt(words: Words, name: str) -> str:
    """Enters a handler of interrupts as the processor does."""
    names, text = words.variables(words.choose.randint(3, 6))
    return (
        f"HANDLER({name}_handler)\n"
        f"u64 {name}(u64 x) {{\n{text}{words.call(names)}"
        f"  ENTER_HANDLER({name}_handler, v1);\n  return {words.sum(names)};\n}}\n"
    )


def leave(words: Words, name: str) -> str:
    """Leaves functions by calls that do not return."""
    names, text = words.variables(words.choose.randint(3, 6))
    return (
        f"static jmp_buf {name}_place;\nstatic u64 {name}_left;\n"
        f"__attribute__((noreturn)) static NOINLINE void {name}_leave(u64 x) {{\n"
        f"  {name}_left = x * 3;\n  longjmp({name}_place, 1);\n}}\n"
        f"__attribute__((noreturn)) static NOINLINE void {name}_deeper(u64 x) {{\n{text}"
        f"{words.call(names)}  if (v1 & 4) {name}_leave({words.sum(names)});\n"
        f"  {name}_leave(v0);\n}}\n"
        f"static NOINLINE u64 {name}_may(u64 x) {{\n"
        f"  if (x % 3) {name}_deeper(x);\n  return x * 5;\n}}\n"
        f"u64 {name}(u64 x) {{\n"
        f"  if (setjmp({name}_place)) return {name}_left + 1;\n"
        f"  return {name}_may(x) ^ {name}_may(x + 1);\n}}\n"
    )


def deep(words: Words, name: str) -> str:
    """Recurs so deeply that the stack only suffices if the recursion is a loop."""
    kind = words.choose.choice([_tail, _accumulated, _siblings, _indirect, _interpreter])
    return kind(words, name)


def _step(words: Words) -> str:
    odd = words.choose.getrandbits(16) | 1
    return words.choose.choice([f"x * {odd} + n", f"(x ^ n) + {odd}", "(x << 3 | x >> 61) ^ n"])


def _tail(words: Words, name: str) -> str:
    noinline = words.choose.choice(["NOINLINE ", ""])
    return (
        f"static {noinline}u64 {name}_r(u64 n, u64 x) {{\n  if (!n) return x;\n"
        f"  if (x & 1) return {name}_r(n - 1, {_step(words)});\n"
        f"  return {name}_r(n - 1, {_step(words)});\n}}\n"
        f"u64 {name}(u64 x) {{ return {name}_r(DEPTH, x); }}\n"
    )


def _accumulated(words: Words, name: str) -> str:
    # LLVM would combine an operation with an equal one before, and not make a loop then.
    odd = words.choose.getrandbits(16) | 1
    value = words.choose.choice([f"x * {odd} +", f"x * {odd} ^", f"((x ^ n) | {odd}) *"])
    return (
        f"static NOINLINE u64 {name}_r(u64 n, u64 x) {{\n"
        f"  return n ? {value} {name}_r(n - 1, x + 1) : x;\n}}\n"
        f"u64 {name}(u64 x) {{ return {name}_r(DEPTH, x); }}\n"
    )


def _siblings(words: Words, name: str) -> str:
    linkage = words.choose.choice(["static NOINLINE", "", '__attribute__((visibility("hidden")))'])
    count = words.choose.randint(2, 4)
    text = "".join(f"{linkage} u64 {name}_r{state}(u64 n, u64 x);\n" for state in range(count))
    for state in range(count):
        text += (
            f"{linkage} u64 {name}_r{state}(u64 n, u64 x) {{\n  if (!n) return x + {state};\n"
            f"  return {name}_r{(state + 1) % count}(n - 1, {_step(words)});\n}}\n"
        )
    return f"{text}u64 {name}(u64 x) {{ return {name}_r0(DEPTH, x); }}\n"


def _indirect(words: Words, name: str) -> str:
    text = f"typedef u64 {name}_state(u64 n, u64 x);\nstatic {name}_state *{name}_states[3];\n"
    for state in range(3):
        text += (
            f"static u64 {name}_r{state}(u64 n, u64 x) {{\n  if (!n) return x + {state};\n"
            f"  return {name}_states[x % 3](n - 1, {_step(words)});\n}}\n"
        )
    values = "".join(f"  {name}_states[{state}] = {name}_r{state};\n" for state in range(3))
    return f"{text}u64 {name}(u64 x) {{\n{values}  return {name}_r0(DEPTH, x);\n}}\n"


def _interpreter(words: Words, name: str) -> str:
    return (
        f"struct {name}_node {{ struct {name}_node *left, *right; int kind; u64 value; }};\n"
        f"static u64 {name}_eval(struct {name}_node *node, u64 *state) {{\n"
        f"  switch (node->kind) {{\n    case 0: return node->value;\n"
        f"    case 1: return {name}_eval(node->left, state) + {name}_eval(node->right, state);\n"
        f"    case 2: {name}_eval(node->left, state); return {name}_eval(node->right, state);\n"
        f"    case 3: return *state = {name}_eval(node->left, state);\n"
        f"    case 4: return *state * {words.choose.getrandbits(9) | 1} + node->value;\n"
        f"    case 5: return {name}_eval(node->left, state)\n"
        f"      ? {name}_eval(node->right, state) : {name}_eval(node->left, state);\n"
        f"    case 6: return node->value ^ {name}_eval(node->left, state);\n  }}\n"
        f"  return 0;\n}}\n"
        f"static struct {name}_node {name}_nodes[DEPTH / 2];\n"
        f"u64 {name}(u64 x) {{\n"
        f"  struct {name}_node next = {{0, 0, 4, x}}, set = {{&next, 0, 3, 0}};\n"
        f"  for (int i = 0; i < DEPTH / 2; i++) {{\n"
        f"    {name}_nodes[i].kind = i % 5 ? 2 : 5;\n    {name}_nodes[i].left = &set;\n"
        f"    {name}_nodes[i].right = i + 1 < DEPTH / 2 ? {name}_nodes + i + 1 : &next;\n  }}\n"
        f"  u64 state = x | 1;\n"
        f"  return {name}_eval({name}_nodes, &state) ^ state;\n}}\n"
    )


def coroutine(words: Words, name: str) -> str:
    """Sums what a coroutine of C++20 yields, in a frame on the heap and in one on the stack."""
    names, text = words.variables(words.choose.randint(2, 6))
    return (
        f"static {words.choose.choice(['NOINLINE ', ''])}generator {name}_yield(u64 x) {{\n{text}"
        f"  for (u64 i = 0; i < x % 7 + 2; i++) {{\n  {words.call(names)}"
        f"    co_yield {words.sum(names)} + i;\n  }}\n}}\n"
        f"API u64 {name}(u64 x) {{\n{text}  generator some = {name}_yield(x);\n"
        f"  while (some.next()) {{\n    v0 = v0 * 3 + some.value();\n  {words.call(names)}  }}\n"
        f"  return {words.sum(names)};\n}}\n"
    )
