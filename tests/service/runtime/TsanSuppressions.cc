// What the thread sanitizer must not report. Its run-time library calls these functions; nobody
// calls them in other builds.
//
// gRPC and Abseil come compiled without the sanitizer, which therefore misses how they synchronise.
// This hides everything that happens below a request of a gRPC server; ConcurrencyTest calls the
// service directly for that reason.

extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

extern "C" const char* __tsan_default_suppressions() {
  return "race:libgrpc\n"
         "race:libgpr\n"
         "race:libabsl\n"
         "race:grpc::\n";
}
