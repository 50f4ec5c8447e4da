"""Programs of this system on older ones: what is missing there comes from the project."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tools import old_systems
from tools.target_system import THIS_SYSTEM, TargetSystem

C_PROGRAM = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static int constructed;
__attribute__((constructor(101))) static void first(int count, char **words, char **variables) {
  assert(count == 2 && strcmp(words[1], "word") == 0 && variables == environ);
  constructed = 1;
}
__attribute__((constructor(102))) static void second(void) { constructed *= 5; }
__attribute__((destructor)) static void last(void) { puts("destroyed"); }
static void bye(void) { puts("bye"); }

static void *number(void *result) {
  *(int *)result = pthread_setname_np(pthread_self(), "thread");
  return result;
}

static void testFiles(void) {
  struct stat of_path, of_link, of_file, of_folder;
  struct stat64 large;
  const int file = open("file", O_RDWR | O_CREAT, 0640);
  assert(write(file, "12345", 5) == 5 && symlink("file", "link") == 0);
  assert(stat("link", &of_path) == 0 && S_ISREG(of_path.st_mode) && of_path.st_size == 5);
  assert(lstat("link", &of_link) == 0 && S_ISLNK(of_link.st_mode) && of_link.st_size == 4);
  assert(fstat(file, &of_file) == 0 && of_file.st_ino == of_path.st_ino);
  assert(fstatat(AT_FDCWD, "link", &of_folder, 0) == 0 && of_folder.st_ino == of_path.st_ino);
  assert(stat64("link", &large) == 0 && large.st_ino == of_path.st_ino);
  assert(lstat64("link", &large) == 0 && large.st_ino == of_link.st_ino);
  assert(fstat64(file, &large) == 0 && large.st_ino == of_path.st_ino);
  assert(fstatat64(AT_FDCWD, "link", &large, AT_SYMLINK_NOFOLLOW) == 0);
  assert(large.st_ino == of_link.st_ino && large.st_mtim.tv_nsec == of_link.st_mtim.tv_nsec);
  assert(stat("missing", &of_path) == -1 && errno == ENOENT);
  assert(fstat(-1, &of_path) == -1 && errno == EBADF);
  assert(mknod("pipe", S_IFIFO | 0600, 0) == 0 && mknodat(AT_FDCWD, "two", S_IFIFO, 0) == 0);
  assert(stat("pipe", &of_path) == 0 && S_ISFIFO(of_path.st_mode));
  assert(mknod("device", S_IFCHR, ~0UL) == -1 && errno == EINVAL);
}

static void testMemory(void) {
  const size_t before = mallinfo2().uordblks;
  char *const bytes = malloc(100000);
  bytes[0] = 1;
  assert(mallinfo2().uordblks >= before + 100000 && mallinfo2().arena > 0);
  free(bytes);
  assert(mallinfo2().uordblks == before);
}

/* The child writes the numbers of its files. That of their folder is closed by then. */
static void testSpawn(int from) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int number = 3; number < 90; number += 20) dup2(0, number);
  assert(posix_spawn_file_actions_addclosefrom_np(&actions, from) == 0);
  assert(posix_spawn_file_actions_addclosefrom_np(&actions, -1) == EBADF);
  dup2(0, 120); /* As if by another thread. */
  char *const list = "for f in /proc/$$/fd/*; do [ ! -e $f ] || echo ${f##*/}; done";
  char *const words[] = {"sh", "-c", list, NULL};
  pid_t child;
  int status;
  assert(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ) == 0);
  assert(waitpid(child, &status, 0) == child && status == 0);
  posix_spawn_file_actions_destroy(&actions);
  puts("-");
  fflush(stdout);
}

int main(void) {
  assert(constructed == 5);
  atexit(bye);
  pthread_t thread;
  int result = -1;
  assert(pthread_create(&thread, NULL, number, &result) == 0);
  assert(pthread_join(thread, NULL) == 0 && result == 0);
  assert(dlsym(dlopen(NULL, RTLD_NOW), "puts") == dlsym(RTLD_DEFAULT, "puts"));
  testFiles();
  testMemory();
  testSpawn(3);
  testSpawn(23);
  const unsigned one = arc4random(), two = arc4random(), three = arc4random();
  assert(one != two || two != three);
  enum { kBytes = 1 << 20, kBeyond = 8 };
  char *const bytes = calloc(kBytes + kBeyond, 1), zeros[kBeyond] = {0};
  arc4random_buf(bytes, kBytes);
  assert(memcmp(bytes, zeros, kBeyond) != 0);
  assert(memcmp(bytes + kBytes - kBeyond, zeros, kBeyond) != 0);
  assert(memcmp(bytes + kBytes, zeros, kBeyond) == 0);
  free(bytes);
  return 0;
}
"""
C_OUTPUT = "0\n1\n2\n-\n0\n1\n2\n3\n-\nbye\ndestroyed\n"

CXX_PROGRAM = r"""
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <new>
#include <string>

struct Counted {
  static int alive;
  Counted() { ++alive; }
  Counted(const Counted &) { ++alive; }
  ~Counted() { --alive; }
};
int Counted::alive = 0;

struct Global {
  Global() { std::cout << "constructed" << std::endl; }
} global;

[[noreturn]] void handle() {
  std::printf("no exception left: %d\n", std::current_exception() == nullptr);
  std::exit(0);
}

void throwNothing(int number) noexcept {
  const std::string text(number, 'a');
  if (text.size() > 2) throw number;
}

int main() {
  std::exception_ptr kept;
  try {
    throw Counted();
  } catch (...) {
    kept = std::current_exception();
    std::exception_ptr copy = kept;
    std::exception_ptr moved = std::move(copy);
  }
  assert(Counted::alive == 1);
  kept = nullptr;
  assert(Counted::alive == 0);

  try {
    int *numbers = std::allocator<int>().allocate(~std::size_t{0} / 2);
    assert(numbers == nullptr);
  } catch (const std::bad_array_new_length &) {
  }

  std::string text(1000, 'a');
  text.resize(20);
  text.reserve();
  assert(text == std::string(20, 'a') && text.capacity() < 1000);
  text = "0123456789";
  text.reserve(100);
  text.replace(2, 3, text.data() + 1, 6);
  assert(text == "0112345656789");

  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  const auto begin = std::chrono::steady_clock::now();
  assert(future.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  assert(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(20));
  std::mutex mutex;
  std::condition_variable condition;
  bool ready = false;
  auto shared = std::make_shared<int>(7);
  auto other = std::async(std::launch::async, [&, shared] {
    std::unique_lock<std::mutex> lock(mutex);
    condition.wait(lock, [&] { return ready; });
    promise.set_value(*shared);
  });
  {
    const std::lock_guard<std::mutex> lock(mutex);
    ready = true;
  }
  condition.notify_one();
  assert(future.wait_for(std::chrono::hours(1)) == std::future_status::ready);
  assert(future.get() == 7);
  other.get();
  assert(shared.use_count() == 1);
  std::set_terminate(handle);
  throwNothing(3);
}
"""

# Their names are those that newer headers and compilers give them. This system may lack them.
NEW_C_PROGRAM = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define NEWER(Number, name, Letter) Number name(const Letter *, Letter **, int)
NEWER(long, __isoc23_strtol, char);
NEWER(long long, __isoc23_strtoll, char);
NEWER(unsigned long, __isoc23_strtoul, char);
NEWER(unsigned long long, __isoc23_strtoull, char);
NEWER(intmax_t, __isoc23_strtoimax, char);
NEWER(uintmax_t, __isoc23_strtoumax, char);
NEWER(long, __isoc23_wcstol, wchar_t);
NEWER(long long, __isoc23_wcstoll, wchar_t);
NEWER(unsigned long, __isoc23_wcstoul, wchar_t);
NEWER(unsigned long long, __isoc23_wcstoull, wchar_t);
int __isoc23_scanf(const char *, ...);
int __isoc23_fscanf(FILE *, const char *, ...);
int __isoc23_sscanf(const char *, const char *, ...);
int __isoc23_vscanf(const char *, va_list);
int __isoc23_vfscanf(FILE *, const char *, va_list);
int __isoc23_vsscanf(const char *, const char *, va_list);

static int listed(FILE *file, const char *text, ...) {
  va_list places;
  va_start(places, text);
  const int count = text != NULL   ? __isoc23_vsscanf(text, "%d", places)
                    : file != NULL ? __isoc23_vfscanf(file, "%d", places)
                                   : __isoc23_vscanf("%d", places);
  va_end(places);
  return count;
}

int main(void) {
  char *end;
  wchar_t *wide;
  assert(__isoc23_strtol(" -0x7fx", &end, 0) == -127 && strcmp(end, "x") == 0);
  assert(__isoc23_strtoll("-9000000000000000000", &end, 10) == -9000000000000000000);
  assert(__isoc23_strtoul("18000000000000000000,", &end, 10) == 18000000000000000000u);
  assert(strcmp(end, ",") == 0 && __isoc23_strtoull("777", NULL, 8) == 511);
  assert(__isoc23_strtoimax("-12", NULL, 3) == -5 && __isoc23_strtoumax("zz", NULL, 36) == 1295);
  /* The one difference. Newer functions would read a 5. */
  assert(__isoc23_strtol("0b101", &end, 0) == 0 && strcmp(end, "b101") == 0);
  assert(__isoc23_wcstol(L"-0x10y", &wide, 16) == -16 && *wide == L'y');
  assert(__isoc23_wcstoll(L"-7", NULL, 0) == -7 && __isoc23_wcstoul(L"7", NULL, 0) == 7);
  assert(__isoc23_wcstoull(L"18000000000000000000", NULL, 0) == 18000000000000000000u);
  int number = 0, other = 0;
  char word[9];
  assert(__isoc23_sscanf("12 words", "%d %8s", &number, word) == 2);
  assert(number == 12 && strcmp(word, "words") == 0);
  assert(listed(NULL, "-3", &number) == 1 && number == -3);
  FILE *const file = fopen("numbers", "w+");
  fputs("4 5 6 7", file);
  rewind(file);
  assert(__isoc23_fscanf(file, "%d", &number) == 1 && listed(file, NULL, &other) == 1);
  assert(number == 4 && other == 5);
  fclose(file);
  assert(freopen("numbers", "r", stdin) == stdin);
  assert(__isoc23_scanf("%d%d", &number, &other) == 2 && number == 4 && other == 5);
  assert(listed(NULL, NULL, &number) == 1 && number == 6);
  return 0;
}
"""

NEW_CXX_PROGRAM = r"""
#include <unwind.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <string>

using Size = std::size_t;
void replaceByOwnPart(std::string *, char *, Size, const char *, Size, Size) __asm__(
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm");
void replaceByOwnWidePart(std::wstring *, wchar_t *, Size, const wchar_t *, Size, Size) __asm__(
    "_ZNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEE15_M_replace_coldEPwmPKwmm");
void initStreams() __asm__("_ZSt21ios_base_library_initv");
[[noreturn]] void terminateBy(_Unwind_Exception *) __asm__("__cxa_call_terminate");
// Without <iostream>, as its older versions would make the stream in this program.
extern std::ostream out __asm__("_ZSt4cout");

std::string replaced(Size at, Size size, Size from, Size newSize) {
  char text[32] = "0123456789";
  std::string ignored;
  replaceByOwnPart(&ignored, text + at, size, text + from, newSize, 10 - at - size);
  return std::string(text, 10 - size + newSize);
}

std::wstring replacedWide(Size at, Size size, Size from, Size newSize) {
  wchar_t text[32] = L"0123456789";
  std::wstring ignored;
  replaceByOwnWidePart(&ignored, text + at, size, text + from, newSize, 10 - at - size);
  return std::wstring(text, 10 - size + newSize);
}

struct Global {
  Global() { out << "constructed" << std::endl; }
} global;

[[noreturn]] void handle() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (int number) {
    std::printf("ended by %d\n", number);
    std::exit(0);
  }
  std::abort();
}

int main() {
  initStreams();
  for (Size at = 0; at <= 10; ++at)
    for (Size size = 0; at + size <= 10; ++size)
      for (Size from = 0; from <= 10; ++from)
        for (Size newSize = 0; from + newSize <= 10; ++newSize) {
          const std::string digits = "0123456789";
          const std::string expected =
              digits.substr(0, at) + digits.substr(from, newSize) + digits.substr(at + size);
          assert(replaced(at, size, from, newSize) == expected);
          const std::wstring wide(expected.begin(), expected.end());
          assert(replacedWide(at, size, from, newSize) == wide);
        }
  std::set_terminate(handle);
  const std::exception_ptr kept = std::make_exception_ptr(7);
  // The header of the exception ends where it begins.
  terminateBy(*reinterpret_cast<_Unwind_Exception *const *>(&kept) - 1);
}
"""


RUNTIME = """
#include <unistd.h>
long sizeOfStack(void) { return sysconf(_SC_SIGSTKSZ); }
long sizeOfPage(void) { return sysconf(_SC_PAGESIZE); }
"""
# An old system knows the second of them only.
RUNTIME_USER = r"""
#include <stdio.h>
#include <unistd.h>
long sizeOfStack(void);
long sizeOfPage(void);
long sysconf(int name) { return name == _SC_PAGESIZE ? 4096 : -1; }
int main(void) { printf("%ld %ld\n", sizeOfStack(), sizeOfPage()); return 0; }
"""


class CrossCompiled(TargetSystem):
    """64-bit Arm by the cross compiler of Debian, which needs no ``tools/sysroot.sh``."""

    def compiler(self, is_cxx=False):
        return ["aarch64-linux-gnu-gcc"]


def compiled(compiler, code, path, *options):
    source = path.with_suffix(".cc" if compiler == "g++" else ".c")
    source.write_text(code)
    subprocess.run([compiler, "-O1", "-o", path, source, *options], check=True)
    return path


def newer_versions(path, system=THIS_SYSTEM):
    """Returns the versions that a program needs and the oldest systems lack."""
    text = subprocess.run(["readelf", "-V", path], check=True, capture_output=True, text=True)
    versions = re.findall(r"Name: ((?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)", text.stdout)
    allowed = old_systems._versions_of(system)
    return {version for version in versions if old_systems._is_newer(version, allowed)}


def build_libraries(folder, options=()):
    folder.mkdir()
    found = old_systems.build_libraries(folder, options)
    for path in found:
        old_systems.adapt(path, found)
        assert newer_versions(path) == set()
    return found


@pytest.fixture
def libraries(tmp_path):
    return build_libraries(tmp_path / "libraries")


def run(*command, folder):
    """Returns what a program prints with the libraries of a folder."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "libraries"), "LD_BIND_NOW": "1"}
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def run_adapted(program, libraries):
    assert newer_versions(program) >= {"GLIBC_2.34"}
    old_systems.adapt(program, libraries)
    assert newer_versions(program) == set()
    return run(program, "word", folder=program.parent)


@pytest.mark.parametrize(
    ("option", "definitions"), [("-no-pie", ["-DCOMPILER_GYM_OLD_SYSTEM"]), ("-pie", [])]
)
def test_functions_of_c(tmp_path, option, definitions):
    """With the functions of the project alone, and with those that this system has."""
    libraries = build_libraries(tmp_path / "libraries", definitions)
    program = compiled("gcc", C_PROGRAM, tmp_path / "program", option)
    assert run_adapted(program, libraries) == C_OUTPUT


def test_functions_of_c_for_another_processor(tmp_path, monkeypatch):
    system = CrossCompiled("aarch64", Path("/usr/aarch64-linux-gnu"))
    (name, *_) = old_systems.LIBRARIES
    monkeypatch.setattr(old_systems, "LIBRARIES", {name: old_systems.LIBRARIES[name]})
    options = ["-DCOMPILER_GYM_OLD_SYSTEM"]
    libraries = old_systems.build_libraries(tmp_path, options, system)
    program = compiled(*system.compiler(), C_PROGRAM, tmp_path / "program")
    assert newer_versions(program, system) >= {"GLIBC_2.34"}
    for path in (program, *libraries):
        old_systems.adapt(path, libraries, system)
        assert newer_versions(path, system) == set()
    command = ["qemu-aarch64", "-L", str(system.root), "-E", f"LD_LIBRARY_PATH={tmp_path}"]
    done = subprocess.run([*command, program, "word"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (C_OUTPUT, "")


def test_functions_of_cxx(libraries, tmp_path):
    program = compiled("g++", CXX_PROGRAM, tmp_path / "program")
    assert run_adapted(program, libraries) == "constructed\nno exception left: 0\n"


@pytest.mark.parametrize(
    ("compiler", "code", "output"),
    [("gcc", NEW_C_PROGRAM, ""), ("g++", NEW_CXX_PROGRAM, "constructed\nended by 7\n")],
)
def test_functions_that_this_system_may_lack(libraries, tmp_path, compiler, code, output):
    program = compiled(compiler, code, tmp_path / "program", *libraries)
    old_systems.adapt(program, libraries)
    assert run(program, folder=tmp_path) == output


def test_library_of_an_interpreter(libraries, tmp_path):
    """Other libraries of its process keep their functions."""
    code = "#include <sys/stat.h>\nint find(char *p) { struct stat s; return stat(p, &s); }\n"
    library = compiled("gcc", code, tmp_path / "own.so", "-shared", "-fPIC")
    old_systems.adapt(library, libraries)
    program = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).find(sys.argv[1].encode()))"
    assert run("python3", "-c", program, library, folder=tmp_path) == "0\n"


def test_older_program_is_kept(libraries, tmp_path):
    code = "#include <string.h>\nint length(char *text) { return strlen(text); }\n"
    library = compiled("gcc", code, tmp_path / "own.so", "-shared", "-fPIC")
    before = library.read_bytes()
    old_systems.adapt(library, libraries)
    assert library.read_bytes() == before


def test_function_that_old_systems_lack(libraries, tmp_path):
    code = "#include <stdlib.h>\nint main(void) { return arc4random_uniform(9); }\n"
    program = compiled("gcc", code, tmp_path / "program")
    message = (
        r"program needs arc4random_uniform of GLIBC_2\.36, which the systems of manylinux_2_31"
    )
    with pytest.raises(SystemExit, match=message):
        old_systems.adapt(program, libraries)


@pytest.mark.parametrize("option", ["-no-pie", "-pie"])
def test_startup_file_and_static_library(tmp_path, option):
    """clang links programs with them on bare systems."""
    name = "Scrt1.o" if option == "-pie" else "crt1.o"
    original = Path("/usr/lib/x86_64-linux-gnu", name)
    old_systems.build_startup_file(original, tmp_path / name)
    old_systems.build_archive(tmp_path / "functions.a")
    program = tmp_path / "program"
    compiled("gcc", C_PROGRAM, program, option, "-B", str(tmp_path), tmp_path / "functions.a")
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    assert re.search(r" T __compiler_gym_start_main\n", symbols)
    assert re.search(r" T arc4random\n", symbols)
    done = subprocess.run([program, "word"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (C_OUTPUT, "")


def test_runtime_of_a_sanitizer(tmp_path):
    compiled("gcc", RUNTIME, tmp_path / "runtime.o", "-c")
    subprocess.run(["ar", "rcs", tmp_path / "own.a", tmp_path / "runtime.o"], check=True)
    old_systems.build_sanitizer_runtime(tmp_path / "own.a", tmp_path / "runtime.a")
    program = compiled("gcc", RUNTIME_USER, tmp_path / "program", tmp_path / "runtime.a")
    assert subprocess.run([program], capture_output=True, text=True).stdout == "8192 4096\n"
