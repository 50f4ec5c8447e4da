// Calls every function of a generated library and prints the results.
//
// "plain" only calls them. "alarm" calls them while a timer interrupts them, and the handler
// overwrites the stack below it. "step" (x86-64 only) interrupts them after every instruction, and
// also unwinds: the tables must lead from each place to the call in checked(), with the same stack
// and the registers that checked() had set. It leaves out functions that throw, which spend most
// instructions in other libraries; "step-all" does not. "backtrace" unwinds likewise from functions
// here that the library calls.
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

typedef unsigned long long u64;

#define FUNCTION(name) u64 name(u64);
#include "functions.h"
#undef FUNCTION

u64 checked(u64 (*function)(u64), u64 argument);
extern char checked_return[], checked_end[];
extern volatile u64 checked_wrong, checked_stack;
extern const u64 checked_values[];

#if defined(__x86_64__)
static const int kRegisters[] = {3, 6, 12, 13, 14, 15};  // rbx, rbp, r12 to r15 in DWARF
#define PLACE(context) ((u64)(context)->uc_mcontext.gregs[REG_RIP])
#else
static const int kRegisters[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
#define PLACE(context) ((u64)(context)->uc_mcontext.pc)
#endif
enum {
  kCount = sizeof kRegisters / sizeof *kRegisters,
  kMaxRanges = 16,
  kMaxFrames = 1000,
  kRounds = 20
};

static struct {
  u64 begin, end;
} ranges[kMaxRanges];
static int range_count;
static volatile u64 places, wrong_unwinding, first_wrong;
static volatile int is_inside, is_backtraced;

static void unwind_from(u64 place);

// Called by the library.
__thread u64 tls_of_main = 5;
u64 back(u64 x) {
  if (is_backtraced && checked_stack) unwind_from((u64)__builtin_return_address(0));
  return x * 6364136223846793005u + 1442695040888963407u;
}
u64 call_back(u64 (*function)(u64), u64 x) {
  if (is_backtraced && checked_stack) unwind_from((u64)__builtin_return_address(0));
  return function(x ^ 0x55) + 1;
}

static int add_ranges(struct dl_phdr_info* info, size_t size, void* data) {
  static const char* const foreign[] = {"libc.", "ld-linux", "libgcc", "libstdc",
                                        "libm.", "vdso",     "san"};
  (void)size, (void)data;
  for (unsigned i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    if (strstr(info->dlpi_name, foreign[i])) return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && part->p_flags & PF_X && range_count < kMaxRanges) {
      ranges[range_count].begin = info->dlpi_addr + part->p_vaddr;
      ranges[range_count++].end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
  }
  return 0;
}

static int is_ours(u64 place) {
  for (int i = 0; i < range_count; i++) {
    if (ranges[i].begin <= place && place < ranges[i].end) return 1;
  }
  return 0;
}

static volatile int frames;

static _Unwind_Reason_Code at_frame(struct _Unwind_Context* context, void* found);

static void unwind_from(u64 place) {
  int found = 0;
  places++;
  frames = 0;
  _Unwind_Backtrace(at_frame, &found);
  if (found != 2) {
    if (!wrong_unwinding) first_wrong = place;
    wrong_unwinding++;
  }
}

// 1 if the frame of checked() was found, 2 if all was right there.
static _Unwind_Reason_Code at_frame(struct _Unwind_Context* context, void* found) {
  // Wrong tables may lead round in a circle.
  if (frames++ > kMaxFrames) return _URC_END_OF_STACK;
  if (_Unwind_GetIP(context) != (u64)checked_return) return _URC_NO_REASON;
  int right = _Unwind_GetCFA(context) == checked_stack;
  for (int i = 0; i < kCount; i++) {
    right &= _Unwind_GetGR(context, kRegisters[i]) == checked_values[i];
  }
  *(int*)found = 1 + right;
  return _URC_END_OF_STACK;
}

// lld writes no tables for the stubs through which functions of libraries are called.
static int has_bare_stubs;
struct bases {
  void *text, *data, *function;
};
const void* _Unwind_Find_FDE(void*, struct bases*);

static int is_bare_stub(u64 place) {
  struct bases bases;
  return has_bare_stubs && !_Unwind_Find_FDE((void*)place, &bases);
}

// LLVM removes arguments from the stack by two pops after a call, and its tables count both at
// once: they are wrong between the two in any program for size.
static int is_between_pops(u64 place) {
#if defined(__x86_64__)
  const unsigned char* end = (const unsigned char*)place;
  return (end[-1] & 0xf8) == 0x58 && (end[-6] == 0xe8 || end[-3] == 0xff);
#else
  (void)place;
  return 0;
#endif
}

static volatile int is_alarmed;

// Once: a machine that is slow enough would do nothing else.
static void set_alarm(void) {
  struct itimerval soon = {{0, 0}, {0, 97}};
  setitimer(ITIMER_REAL, &soon, 0);
}

static void check_unwinding(u64 place) {
  const int is_caller = (u64)checked <= place && place < (u64)checked_end;
  if (!is_inside || !checked_stack || is_caller || !is_ours(place) || is_bare_stub(place) ||
      is_between_pops(place)) {
    return;
  }
  unwind_from(place);
}

static void on_signal(int number, siginfo_t* info, void* context) {
  (void)info;
  volatile char below[256];
  memset((char*)below, 0x5a, sizeof below);
  if (number == SIGTRAP) check_unwinding(PLACE((ucontext_t*)context));
  if (number == SIGALRM && is_alarmed) set_alarm();
}

static void handle(int number) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(number, &action, 0);
}

static void set_stepping(int on) {
#if defined(__x86_64__)
  if (on) {
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  } else {
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  }
#else
  (void)on;
#endif
}

static void call(const char* mode, const char* name, u64 (*function)(u64)) {
  const int throws = name[0] == 'x';
  // Deep recursion takes too many steps, and some functions change registers without a table.
  const int is_whole = strchr("dmn", name[0]) != 0;
  const int stepped =
      !is_whole && (!strcmp(mode, "step-all") || (!strcmp(mode, "step") && !throws));
  const int interrupted = !strcmp(mode, "alarm") && name[0] != 'd';
  is_backtraced = !strcmp(mode, "backtrace") && name[0] != 'n';
  for (u64 argument = 1; argument < 4; argument++) {
    u64 result = 0;
    for (int round = 0; round < (interrupted ? kRounds : 1); round++) {
      is_inside = 1;
      if (stepped && argument == 1) set_stepping(1);
      const u64 now = checked(function, argument * 0x9e3779b97f4a7c15u);
      if (stepped && argument == 1) set_stepping(0);
      is_inside = 0;
      result = round ? (result == now ? now : 0xdead) : now;
    }
    printf("%s %llu %016llx%s\n", name, argument, result, checked_wrong ? " registers lost" : "");
    checked_wrong = 0;
  }
}

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "plain";
  has_bare_stubs = count > 2 && !strcmp(arguments[2], "lld");
  dl_iterate_phdr(add_ranges, 0);
  int found = 0;
  _Unwind_Backtrace(at_frame, &found);
  handle(SIGALRM);
  handle(SIGTRAP);
  is_alarmed = !strcmp(mode, "alarm");
  if (is_alarmed) set_alarm();
#define FUNCTION(name) call(mode, #name, name);
#include "functions.h"
  is_alarmed = 0;
  if (wrong_unwinding) printf("wrong unwinding\n");
  fprintf(stderr, "unwound from %llu places, %llu wrong", places, wrong_unwinding);
  if (wrong_unwinding) fprintf(stderr, ", first at %#llx of %#llx", first_wrong, ranges[0].begin);
  fprintf(stderr, "\n");
  return 0;
}
