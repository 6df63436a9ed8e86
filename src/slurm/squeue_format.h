#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/slurm.h"
#include "base/result.h"
#include "slurm/format.h"

namespace twinyard::slurm {

inline constexpr std::string_view kSqueueDefault = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
inline constexpr std::string_view kSqueueLong = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
inline constexpr std::string_view kSqueueStart = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
inline constexpr std::string_view kSqueueStateOnly = "%.18i %.2t";
inline constexpr std::string_view kSqueueSort = "P,t,-p";
inline constexpr std::string_view kSqueueStartSort = "S";

[[nodiscard]] std::span<const FieldName> squeue_fields();
[[nodiscard]] Layout squeue_layout(std::string_view format);
[[nodiscard]] Layout squeue_name_layout(std::string_view format);

/// One line, with the line break.
void append_job(std::string& out,
                const Layout& layout,
                const api::JobRow& row,
                const TextContext& context);

/// Sorts by -S; equal ones stay as they are. InvalidArgument: no such key.
[[nodiscard]] Status sort_jobs(std::vector<api::JobRow>& rows,
                               std::string_view keys,
                               const TextContext& context);

}  // namespace twinyard::slurm
