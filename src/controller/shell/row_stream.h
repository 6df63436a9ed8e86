#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "controller/shell/workers.h"
#include "rpc/server.h"

namespace twinyard::controller {

/// Fills `part` with the next rows; false after the last. An error ends the stream with it.
using NextPart = std::move_only_function<Result<bool>(std::string& part)>;

/// About this many bytes make a part.
inline constexpr std::size_t kPartBytes = 64 * 1024;

/// Streams a listing, part by part, on the workers. A slow reader costs no thread: the rest is
/// posted again when it has read.
void stream_rows(rpc::Call call, Workers& workers, NextPart next);

}  // namespace twinyard::controller
