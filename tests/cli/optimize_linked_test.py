"""``compiler-gym optimize --objective linked``: short searches for smaller programs."""

import json
import re


def test_a_linked_program_becomes_smaller(run, environment, loop_c):
    words = ("--objective", "linked", "--evaluations", "2", "--html", "page.html")
    done = run("optimize", "loop.c", *words, "--check", "clang-22 {} -o p && ./p")
    said = r"loop\.o: (\d+) bytes linked, [1-9][\d.]*% smaller than the (\d+)"
    after, before = map(int, re.match(said, done.stdout).groups())
    page = (environment / "page.html").read_text(encoding="utf-8")
    assert f">Before: {before:,} bytes<" in page and f">After: {after:,} bytes<" in page
    assert re.search(r"^Linked and stripped, the program's file has \d+ bytes", done.stdout, re.M)
    assert "Checked: it passes the check." in done.stdout


def test_parts_of_a_linked_program(run, environment):
    (environment / "main.c").write_text("int f(int);\nint main(int n, char** v) { return f(n); }\n")
    (environment / "f.c").write_text(
        "int f(int n) { int s = 0; while (n-- > 0) s += n * s ^ 5; return s; }\n"
    )
    parts = ("optimize", "main.c", "f.c", "--objective", "linked", "--evaluations", "2")
    done = run(*parts, "-o", "made", "--link", "clang-22 {} -static-pie -o $PROGRAM")
    than = r"(as many as those|[\d.]+% less than the \d+) of clang -Oz\."
    assert re.search(rf"^The program has \d+ bytes of text and data, {than}$", done.stdout, re.M)
    first, last = json.loads(run(*parts, "-o", "made", "--json").stdout)
    assert first["linked"]["after"] == last["linked"]["before"]
    assert last["linked"]["after"]["loaded"] <= first["linked"]["before"]["loaded"]
    assert "undefined" in run("optimize", "main.c", "--objective", "linked", code=1).stderr


FIRMWARE = """\
MEMORY {{ FLASH (rx) : ORIGIN = 0, LENGTH = {} RAM (rw) : ORIGIN = 0x1000, LENGTH = 8 }}
SECTIONS {{
  .text : {{ *(.text*) *(.rodata*) }} > FLASH
  .bss : {{ *(.bss*) }} > RAM
  /DISCARD/ : {{ *(.ARM.exidx*) }}
}}
"""


def test_firmware_that_is_too_large_fits_afterwards(run, environment):
    (environment / "main.c").write_text(
        "int f(int*, int);\nint _start(int* n) { return f(n, 3); }\n"
    )
    (environment / "f.c").write_text(
        "static int g(int n) { int s = 0; while (n-- > 0) s += n * s ^ 5; return s; }\n"
        "int f(int* a, int n) { return g(a[0]) ^ g(a[n]) ^ g(a[n + 1]) ^ g(n); }\n"
    )
    link = ("--link", "ld.lld-22 -T firmware.ld {} -o $PROGRAM")
    words = ("optimize", "main.c", "f.c", "-o", "made", "--objective", "region:FLASH", *link)
    options = ("--evaluations", "12", "--", "--target=thumbv7m-none-eabi", "-ffreestanding")

    def tuned(size, code=0, *more):
        (environment / "firmware.ld").write_text(FIRMWARE.format(size))
        return run(*words, *more, *options, code=code).stdout

    first, last = json.loads(tuned(1000, 0, "--json"))
    assert first["source"] == "f.c", "The largest part is the first"
    before, after = first["regions"][0]["before"], last["regions"][0]["after"]
    assert after < before, "It fits, so the search makes it as small as it can"
    first, last = json.loads(tuned(before - 1, 0, "--json"))
    assert first["objective"] == "region" and first["fits"] and last["fits"]
    assert last["evaluations"] == 0, "It fits, so the rest stays as clang makes it"
    said = tuned(after // 2, 1)
    assert re.search(r"^FLASH: \d+ of \d+ bytes used, \d+ too many\.$", said, re.M)
    with (environment / "f.c").open("a") as file:
        file.write("int all[9];\n")
    results = json.loads(tuned(1000, 1, "--json"))
    assert [each["evaluations"] for each in results] == [0, 0], "Less code leaves RAM too full"
