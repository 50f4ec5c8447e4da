"""The functions of the C library that a mined function may really call.

They compute and allocate memory. All others are replaced: called with random arguments, they would
kill processes, remove files or wait for ever.
"""

from collections.abc import Iterator

_MEMORY = """
    memcpy memccpy mempcpy memmove memset memcmp memchr memrchr rawmemchr memmem bcmp bcopy bzero
    explicit_bzero malloc calloc realloc reallocarray free aligned_alloc posix_memalign
    __memcpy_chk __memmove_chk __memset_chk __mempcpy_chk
"""
_STRINGS = """
    strlen strnlen strcpy stpcpy strncpy stpncpy strcat strncat strcmp strncmp strcasecmp
    strncasecmp strchr strrchr strchrnul strstr strcasestr strspn strcspn strpbrk strtok strtok_r
    strsep strdup strndup strcoll strxfrm strlcpy strlcat __strcpy_chk __strncpy_chk __strcat_chk
    __strncat_chk __stpcpy_chk
    wcslen wcsnlen wcscpy wcsncpy wcscat wcscmp wcsncmp wcschr wcsrchr wcsstr wmemcpy wmemmove
    wmemset wmemcmp wmemchr
"""
_CHARACTERS = """
    isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper
    isxdigit toascii tolower toupper __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc
    iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace
    iswupper iswxdigit towlower towupper
"""
_NUMBERS = """
    abs labs llabs imaxabs div ldiv lldiv ffs ffsl ffsll atoi atol atoll atof strtol strtoll strtoul
    strtoull strtoimax strtoumax strtof strtod strtold __isoc23_strtol __isoc23_strtoll
    __isoc23_strtoul __isoc23_strtoull qsort bsearch __errno_location
"""
# Also with the suffixes f and l.
_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1
    fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo
    rint round roundeven scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
    __finite __fpclassify __isinf __isnan __signbit
"""


def _names() -> Iterator[str]:
    for names in (_MEMORY, _STRINGS, _CHARACTERS, _NUMBERS):
        yield from names.split()
    for name in _MATHEMATICS.split():
        yield from (name, f"{name}f", f"{name}l")


PURE_FUNCTIONS = frozenset(_names())
"""Their names."""

RESERVED_FUNCTIONS = frozenset(
    {"_exit", "clock_gettime", "dprintf", "fork", "mmap", "setitimer", "waitpid"}
)
"""The functions that the harness itself calls, which can therefore not be replaced."""
