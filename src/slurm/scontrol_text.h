#pragma once

#include <string>

#include "api/slurm.h"
#include "slurm/format.h"

namespace twinyard::slurm {

struct RecordStyle {
    bool one_line = false;  ///< -o
    bool detail = false;    ///< -d
};

/// The records of `scontrol show job|node|partition`, each with the empty line after it (one-line
/// records have none).
void append_job_record(std::string& out,
                       const api::JobRow& row,
                       RecordStyle style,
                       const TextContext& context);
void append_node_record(std::string& out,
                        const api::NodeRow& row,
                        RecordStyle style,
                        const TextContext& context);
void append_partition_record(std::string& out,
                             const api::PartitionRow& row,
                             RecordStyle style,
                             const TextContext& context);

/// `scontrol show config` and `ping` texts.
[[nodiscard]] std::string config_text(const api::ControllerInfo& info, const TextContext& context);
[[nodiscard]] std::string ping_text(const api::ControllerInfo& info);

}  // namespace twinyard::slurm
