#pragma once

#include "model/node.h"
#include "model/workload.h"
#include "wire/codec.h"

/// Field tables of the model's records. A number, once used, stays with its meaning: add at the
/// end, and never reuse the number of a field that went (src/wire/numbers.txt is the kept list; a
/// test compares).
namespace twinyard::wire {

WIRE_MESSAGE(model::DeviceRequest,
             WIRE_FIELD(1, class_path),
             WIRE_FIELD(2, count),
             WIRE_FIELD(3, share_milli));
WIRE_MESSAGE(model::Resources,
             WIRE_FIELD(1, cpu_milli),
             WIRE_FIELD(2, memory_bytes),
             WIRE_FIELD(3, devices));
WIRE_MESSAGE(model::Range, WIRE_FIELD(1, min), WIRE_FIELD(2, max));
WIRE_MESSAGE(model::LabelTest, WIRE_FIELD(1, key), WIRE_FIELD(2, op), WIRE_FIELD(3, values));
WIRE_MESSAGE(model::NodeTerm, WIRE_FIELD(1, all));
WIRE_MESSAGE(model::PreferredTerm, WIRE_FIELD(1, weight), WIRE_FIELD(2, term));
WIRE_MESSAGE(model::Affinity,
             WIRE_FIELD(1, kind),
             WIRE_FIELD(2, required),
             WIRE_FIELD(3, level),
             WIRE_FIELD(4, workloads),
             WIRE_FIELD(5, max_skew));
WIRE_MESSAGE(model::Where,
             WIRE_FIELD(1, any_of),
             WIRE_FIELD(2, same_alternative),
             WIRE_FIELD(3, preferred),
             WIRE_FIELD(4, include),
             WIRE_FIELD(5, exclude),
             WIRE_FIELD(6, affinity),
             WIRE_FIELD(7, switches_max),
             WIRE_FIELD(8, switches_wait));
WIRE_MESSAGE(model::Binding, WIRE_FIELD(1, devices_to_members));
WIRE_MESSAGE(model::TakeAll, WIRE_FIELD(1, cpus), WIRE_FIELD(2, memory), WIRE_FIELD(3, devices));
WIRE_MESSAGE(model::TaskGroup,
             WIRE_FIELD(1, name),
             WIRE_FIELD(2, members),
             WIRE_FIELD(3, per_member),
             WIRE_FIELD(4, per_node),
             WIRE_FIELD(5, total),
             WIRE_FIELD(6, take_all),
             WIRE_FIELD(7, nodes),
             WIRE_FIELD(8, members_per_node),
             WIRE_FIELD(9, share),
             WIRE_FIELD(10, where),
             WIRE_FIELD(11, binding));
WIRE_MESSAGE(model::EndWarning,
             WIRE_FIELD(1, signal),
             WIRE_FIELD(2, before_end),
             WIRE_FIELD(3, batch_shell_only));
WIRE_MESSAGE(model::ProcessLimit, WIRE_FIELD(1, resource), WIRE_FIELD(2, soft));
WIRE_MESSAGE(model::LaunchSpec,
             WIRE_FIELD(1, script),
             WIRE_FIELD(2, environment),
             WIRE_FIELD(3, arguments),
             WIRE_FIELD(4, command),
             WIRE_FIELD(5, work_dir),
             WIRE_FIELD(6, std_in),
             WIRE_FIELD(7, std_out),
             WIRE_FIELD(8, std_err),
             WIRE_FIELD(9, append_output),
             WIRE_FIELD(10, umask),
             WIRE_FIELD(11, limits),
             WIRE_FIELD(12, submit_host),
             WIRE_FIELD(13, submit_line),
             WIRE_FIELD(14, end_warning),
             WIRE_FIELD(15, extra_environment));
WIRE_MESSAGE(model::WorkloadSpec,
             WIRE_FIELD(1, door),
             WIRE_FIELD(2, name),
             WIRE_FIELD(3, uid),
             WIRE_FIELD(4, gid),
             WIRE_FIELD(5, queue),
             WIRE_FIELD(6, qos),
             WIRE_FIELD(7, partitions),
             WIRE_FIELD(8, groups),
             WIRE_FIELD(9, min_members),
             WIRE_FIELD(10, end_rule),
             WIRE_FIELD(11, time_limit),
             WIRE_FIELD(12, time_min),
             WIRE_FIELD(13, begin),
             WIRE_FIELD(14, nice),
             WIRE_FIELD(15, priority),
             WIRE_FIELD(16, requeue_allowed),
             WIRE_FIELD(17, reboot),
             WIRE_FIELD(18, comment),
             WIRE_FIELD(19, labels),
             WIRE_FIELD(20, launch),
             WIRE_FIELD(21, emulated_runtime),
             WIRE_FIELD(22, emulated_exit));
WIRE_MESSAGE(model::Outcome,
             WIRE_FIELD(1, kind),
             WIRE_FIELD(2, exit_code),
             WIRE_FIELD(3, signal),
             WIRE_FIELD(4, by_uid),
             WIRE_FIELD(5, detail));
WIRE_MESSAGE(model::NodeGrant,
             WIRE_FIELD(1, node),
             WIRE_FIELD(2, group),
             WIRE_FIELD(3, first_member),
             WIRE_FIELD(4, member_count),
             WIRE_FIELD(5, cpu_milli),
             WIRE_FIELD(6, memory_bytes),
             WIRE_FIELD(7, cpus),
             WIRE_FIELD(8, devices));
WIRE_MESSAGE(model::Placement, WIRE_FIELD(1, partition), WIRE_FIELD(2, grants));
WIRE_MESSAGE(model::MemberRun,
             WIRE_FIELD(1, state),
             WIRE_FIELD(2, address),
             WIRE_FIELD(3, outcome));
WIRE_MESSAGE(model::FencedGrant, WIRE_FIELD(1, attempt), WIRE_FIELD(2, grant));
WIRE_MESSAGE(model::WorkloadStatus,
             WIRE_FIELD(1, state),
             WIRE_FIELD(2, generation),
             WIRE_FIELD(3, attempt),
             WIRE_FIELD(4, restarts),
             WIRE_FIELD(5, launch_failures),
             WIRE_FIELD(6, hold),
             WIRE_FIELD(7, requeue_at_end),
             WIRE_FIELD(8, submitted),
             WIRE_FIELD(9, eligible),
             WIRE_FIELD(10, started),
             WIRE_FIELD(11, ended),
             WIRE_FIELD(12, submitted_wall),
             WIRE_FIELD(13, eligible_wall),
             WIRE_FIELD(14, started_wall),
             WIRE_FIELD(15, ended_wall),
             WIRE_FIELD(16, suspended_since),
             WIRE_FIELD(17, suspended_total),
             WIRE_FIELD(18, not_before),
             WIRE_FIELD(19, end_asked),
             WIRE_FIELD(20, outcome),
             WIRE_FIELD(21, runs),
             WIRE_FIELD(22, fenced));
WIRE_MESSAGE(model::Device,
             WIRE_FIELD(1, class_path),
             WIRE_FIELD(2, uuid),
             WIRE_FIELD(3, path),
             WIRE_FIELD(4, memory_bytes),
             WIRE_FIELD(5, numa),
             WIRE_FIELD(6, links),
             WIRE_FIELD(7, healthy));
WIRE_MESSAGE(model::NodeCapacity,
             WIRE_FIELD(1, boards),
             WIRE_FIELD(2, sockets),
             WIRE_FIELD(3, cores_per_socket),
             WIRE_FIELD(4, threads_per_core),
             WIRE_FIELD(5, cpus),
             WIRE_FIELD(6, memory_bytes),
             WIRE_FIELD(7, tmp_disk_bytes),
             WIRE_FIELD(8, devices));
WIRE_MESSAGE(model::NodeFacts,
             WIRE_FIELD(1, host_name),
             WIRE_FIELD(2, os),
             WIRE_FIELD(3, arch),
             WIRE_FIELD(4, version),
             WIRE_FIELD(5, process_tracking),
             WIRE_FIELD(6, notes),
             WIRE_FIELD(7, boot_time),
             WIRE_FIELD(8, agent_start));
WIRE_MESSAGE(model::Node,
             WIRE_FIELD(1, id),
             WIRE_FIELD(2, revision),
             WIRE_FIELD(3, name),
             WIRE_FIELD(4, address),
             WIRE_FIELD(5, capacity),
             WIRE_FIELD(6, facts),
             WIRE_FIELD(7, labels),
             WIRE_FIELD(8, weight),
             WIRE_FIELD(9, emulated),
             WIRE_FIELD(10, configured),
             WIRE_FIELD(11, link),
             WIRE_FIELD(12, drain),
             WIRE_FIELD(13, down),
             WIRE_FIELD(14, reason),
             WIRE_FIELD(15, reason_uid),
             WIRE_FIELD(16, reason_time));

}  // namespace twinyard::wire
