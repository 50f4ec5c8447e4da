// The files of the system that a confined program sees.
#pragma once

namespace compiler_gym::confine {

// Read-only: programs, libraries, headers, and how to find them.
constexpr const char* kSystemFiles[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/lib32",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
};

constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                    "/dev/urandom"};

}  // namespace compiler_gym::confine
