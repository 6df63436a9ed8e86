#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/slurm.h"
#include "base/result.h"
#include "slurm/format.h"

namespace twinyard::slurm {

inline constexpr std::string_view kSinfoDefault = "%#P %.5a %.10l %.6D %.6t %N";
inline constexpr std::string_view kSinfoLong =
    "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N";
inline constexpr std::string_view kSinfoSummary = "%#P %.5a %.10l %.16F %N";
inline constexpr std::string_view kSinfoNode = "%#N %.6D %#.P %6t";
inline constexpr std::string_view kSinfoNodeLong =
    "%#N %.6D %#.P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E";
inline constexpr std::string_view kSinfoReason = "%20E %9u %19H %N";

/// One line of sinfo: nodes that look alike, in one partition (null with -N -o without %P …).
struct NodeGroup {
    const api::PartitionRow* partition = nullptr;
    std::vector<const api::NodeRow*> nodes;
};

struct SinfoOptions {
    bool by_node = false;  ///< -N: one line a node and partition.
    bool exact = false;    ///< -e: nodes whose sizes differ never share a line.
    bool summary = false;  ///< -s: one line a partition.
    std::string sort;      ///< -S; empty: Slurm's default (#P,-t; by_node: N).
};

[[nodiscard]] std::span<const FieldName> sinfo_fields();
[[nodiscard]] Layout sinfo_layout(std::string_view format);
[[nodiscard]] Layout sinfo_name_layout(std::string_view format);

/// Folds nodes into lines: which fields must agree follows from the layout's columns. Partitions
/// without nodes have one line with none. The rows must outlive the groups.
[[nodiscard]] Result<std::vector<NodeGroup>> group_nodes(
    std::span<const api::NodeRow> nodes,
    std::span<const api::PartitionRow> partitions,
    const Layout& layout,
    const SinfoOptions& options,
    const TextContext& context);

/// Sets the width of columns that grow (`%#P`) by the longest cell.
void fit_columns(Layout& layout, std::span<const NodeGroup> groups, const TextContext& context);

/// One line, with the line break.
void append_group(std::string& out,
                  const Layout& layout,
                  const NodeGroup& group,
                  const TextContext& context);

}  // namespace twinyard::slurm
