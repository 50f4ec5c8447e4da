// Headers that many sources of this folder include. They are compiled once, see
// tools/precompiled_header.bzl. Sources include what they use all the same: GCC compiles them
// without this.
#pragma once

#include <glog/logging.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <atomic>
#include <boost/filesystem.hpp>
#include <boost/filesystem/fstream.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
