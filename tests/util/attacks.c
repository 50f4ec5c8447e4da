/* Attacks of a confined program on its surroundings: see confinement_test.py.

   The first argument is the name of the attack. The exit code is 0 if it succeeds. Otherwise the
   program prints what refused it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static int refused(void) {
  printf("%s\n", strerror(errno));
  return 1;
}

static int end(int is_done) { return is_done ? 0 : refused(); }

static int read_file(const char* path) {
  char byte;
  int file = open(path, O_RDONLY);
  return end(file >= 0 && read(file, &byte, 1) == 1);
}

static int write_file(const char* path) {
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  return end(file >= 0 && write(file, "x", 1) == 1);
}

/* The file that is the standard input. */
static int write_input(void) {
  int file = open("/proc/self/fd/0", O_WRONLY);
  return end(file >= 0 && write(file, "x", 1) == 1);
}

static int read_memory(int process) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void*)&refused, 1};
  return end(process_vm_readv(process, &here, 1, &there, 1, 0) == 1);
}

static int kill_process(int process) { return end(kill(process, SIGKILL) == 0); }

/* The first process of a namespace ignores signals of the others. */
static int kill_parent(void) {
  if (kill(getppid(), SIGKILL) != 0) return refused();
  usleep(20000);
  puts("the parent ignores it");
  return 1;
}

static int bomb(int limit) {
  for (int count = 0; count <= limit; ++count) {
    pid_t child = fork();
    if (child < 0) return refused();
    if (child == 0) pause();
  }
  sleep(2);
  return 0;
}

static int fill(const char* prefix, int files, int mebibytes) {
  char* block = calloc(1, MIB);
  for (int i = 0; i < files; ++i) {
    char path[256];
    snprintf(path, sizeof(path), "%s%d", prefix, i);
    int file = open(path, O_WRONLY | O_CREAT, 0644);
    for (int j = 0; j < mebibytes; ++j) {
      if (file < 0 || write(file, block, MIB) < 0) return refused();
    }
    /* No name is left to find it by. */
    if (prefix[0] == '.') unlink(path);
    else close(file);
  }
  sleep(2);
  return 0;
}

/* Writes to files of a folder that nobody can look into. */
static int fill_hidden(int files) {
  char* block = calloc(1, MIB);
  int opened[64];
  mkdir("hidden", 0700);
  for (int i = 0; i < files; ++i) {
    char path[64];
    snprintf(path, sizeof(path), "hidden/%d", i);
    opened[i] = open(path, O_WRONLY | O_CREAT, 0644);
  }
  fchmod(open("hidden", O_RDONLY), 0);
  for (int i = 0; i < files; ++i) {
    if (write(opened[i], block, MIB) < 0) return refused();
  }
  sleep(2);
  return 0;
}

static int allocate(int mebibytes, int processes) {
  while (processes-- > 1 && fork() != 0) continue;
  for (int i = 0; i < mebibytes; ++i) {
    volatile char* block = malloc(MIB);
    if (!block) return refused();
    for (int j = 0; j < MIB; j += 4096) block[j] = 1;
  }
  sleep(2);
  return 0;
}

/* Memory that belongs to no process. */
static int park_memory(void) {
  int id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
  if (id >= 0) return 0;
  return end(syscall(SYS_memfd_create, "parked", 0) >= 0);
}

static int open_tcp(int port) {
  struct sockaddr_in address = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {0}};
  int file = socket(AF_INET, SOCK_STREAM, 0);
  return end(file >= 0 && connect(file, (void*)&address, sizeof(address)) == 0);
}

static int send_udp(int port) {
  struct sockaddr_in address = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {0}};
  int file = socket(AF_INET, SOCK_DGRAM, 0);
  return end(file >= 0 && sendto(file, "x", 1, 0, (void*)&address, sizeof(address)) == 1);
}

static int open_unix(const char* name, int is_abstract) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + is_abstract, sizeof(address.sun_path) - 1, "%s", name);
  socklen_t size = offsetof(struct sockaddr_un, sun_path) + is_abstract + strlen(name);
  int file = socket(AF_UNIX, SOCK_STREAM, 0);
  return end(file >= 0 && connect(file, (void*)&address, size) == 0);
}

/* Leaves a process in a session of its own; its command line has the marker. */
static int daemonise(void) {
  for (int i = 0; i < 3; ++i) {
    pid_t child = fork();
    if (child < 0) return refused();
    if (child > 0 && i == 2) usleep(20000);
    if (child > 0) _exit(0);
    setsid();
  }
  prctl(PR_SET_PDEATHSIG, 0);
  for (int signal_number = 1; signal_number < 32; ++signal_number) signal(signal_number, SIG_IGN);
  sleep(60);
  return 0;
}

static int exhaust_files(int limit) {
  for (int i = 0; i <= limit; ++i) {
    if (open("/dev/null", O_RDONLY) < 0) return refused();
  }
  return 0;
}

static int open_device(void) {
  const char* names[] = {"/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/kvm", "/dev/fuse"};
  for (int i = 0; i < 6; ++i) {
    if (open(names[i], O_RDWR) >= 0) return 0;
  }
  return end(mknod("device", S_IFBLK | 0600, makedev(254, 0)) == 0 && open("device", O_RDWR) >= 0);
}

static int become_root(void) {
  if (geteuid() != 0 && setuid(0) != 0) return refused();
  /* Root without rights is nobody. */
  return end(chroot("/") == 0 || mknod("device", S_IFCHR | 0600, makedev(1, 1)) == 0);
}

static int leave_namespaces(void) {
  if (unshare(CLONE_NEWUSER) == 0) return 0;
  return end(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0);
}

/* The secret is reversed, since the command line of this program has it, too. */
static int read_processes(const char* reversed) {
  size_t length = strlen(reversed);
  char* secret = calloc(1, length + 1);
  for (size_t i = 0; i < length; ++i) secret[i] = reversed[length - 1 - i];
  DIR* processes = opendir("/proc");
  if (!processes) return refused();
  for (struct dirent* each; (each = readdir(processes));) {
    for (int i = 0; i < 2; ++i) {
      char path[512], text[65536] = "";
      snprintf(path, sizeof(path), "/proc/%s/%s", each->d_name, i ? "environ" : "cmdline");
      int file = atoi(each->d_name) == getpid() ? -1 : open(path, O_RDONLY);
      ssize_t size = file < 0 ? 0 : read(file, text, sizeof(text));
      if (size > 0 && memmem(text, (size_t)size, secret, length)) return 0;
      if (file >= 0) close(file);
    }
  }
  puts("none of them has it");
  return 1;
}

static int read_environment(const char* name) {
  if (getenv(name)) return 0;
  puts("there is no such variable");
  return 1;
}

static int nest(void) {
  for (int i = 0; i < 3000; ++i) {
    if (mkdir("d", 0700) != 0 || chdir("d") != 0) return refused();
  }
  sleep(2);
  return 0;
}

int main(int argc, char** argv) {
  setbuf(stdout, NULL);
  const char* name = argv[1];
  const char* value = argc > 2 ? argv[2] : "";
  const int number = atoi(value);
  if (!strcmp(name, "read")) return read_file(value);
  if (!strcmp(name, "write")) return write_file(value);
  if (!strcmp(name, "write-input")) return write_input();
  if (!strcmp(name, "write-setting")) return end(open(value, O_WRONLY) >= 0);
  if (!strcmp(name, "chmod")) return end(chmod(value, 0777) == 0);
  if (!strcmp(name, "chmod-open")) return end(fchmod(open(value, O_RDONLY), 0777) == 0);
  if (!strcmp(name, "link")) return end(link(value, "linked") == 0);
  if (!strcmp(name, "symlink")) return symlink(value, "answer");
  if (!strcmp(name, "kill")) return kill_process(number);
  if (!strcmp(name, "kill-parent")) return kill_parent();
  if (!strcmp(name, "ptrace")) return end(ptrace(PTRACE_ATTACH, number, 0, 0) == 0);
  if (!strcmp(name, "read-memory")) return read_memory(number);
  if (!strcmp(name, "bomb")) return bomb(number);
  if (!strcmp(name, "big-file")) return fill("big", 1, number);
  if (!strcmp(name, "fill")) return fill("file", number, 1);
  if (!strcmp(name, "fill-nameless")) return fill("./file", number, 1);
  if (!strcmp(name, "fill-secretly")) {
    prctl(PR_SET_DUMPABLE, 0);
    return fill("./file", number, 1);
  }
  if (!strcmp(name, "fill-hidden")) return fill_hidden(number);
  if (!strcmp(name, "fill-shared")) return fill("/dev/shm/file", number, 1);
  if (!strcmp(name, "nest")) return nest();
  if (!strcmp(name, "memory")) return allocate(number, 1);
  if (!strcmp(name, "memory-of-many")) return allocate(number, 8);
  if (!strcmp(name, "park-memory")) return park_memory();
  if (!strcmp(name, "tcp")) return open_tcp(number);
  if (!strcmp(name, "udp")) return send_udp(number);
  if (!strcmp(name, "unix")) return open_unix(value, 0);
  if (!strcmp(name, "abstract")) return open_unix(value, 1);
  if (!strcmp(name, "sleep")) return (int)sleep(60);
  if (!strcmp(name, "spin")) for (;;) continue;
  if (!strcmp(name, "daemon")) return daemonise();
  if (!strcmp(name, "files")) return exhaust_files(number);
  if (!strcmp(name, "device")) return open_device();
  if (!strcmp(name, "root")) return become_root();
  if (!strcmp(name, "mount")) return end(mount("none", ".", "tmpfs", 0, "") == 0);
  if (!strcmp(name, "namespaces")) return leave_namespaces();
  if (!strcmp(name, "core")) abort();
  if (!strcmp(name, "processes")) return read_processes(value);
  if (!strcmp(name, "environment")) return read_environment(value);
  if (!strcmp(name, "terminal")) return end(ioctl(0, TIOCSTI, "x") == 0);
  return 2;
}
