#pragma once

#include <gflags/gflags.h>

DECLARE_uint64(max_program_bytes);
DECLARE_string(action_policy);
DECLARE_string(load_pass_plugin);
DECLARE_string(verify);
DECLARE_string(ir2vec_vocabulary);
DECLARE_string(target_triple);
DECLARE_string(baseline_cache);
