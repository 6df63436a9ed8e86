// The table of slurm.conf's parameters: one row each, in the alphabetical order in which `scontrol
// show config` prints them. "Honoured" is said only where this version has the effect; all else
// says why it has none.
#include "config/parameters.h"

#include <algorithm>
#include <array>

#include "config/memory_rule.h"

namespace twinyard::config {

namespace {

using P = Parameters;
using Row = Entry<Parameters>;
using model::MemoryRule;

constexpr std::string_view kOwnStore =
    "history and state are built in; there is no database daemon to reach";
constexpr std::string_view kOwnWire =
    "our processes speak a protocol of their own, local callers are known by their credentials";
constexpr std::string_view kOwnFiles =
    "files, logs and processes live in the folder of `twinyard up`";
constexpr std::string_view kNoAssociations = "associations and their limits are not built yet";
constexpr std::string_view kNoFairShare = "fair share is not built yet";
constexpr std::string_view kNoHooks = "programs around jobs and steps are not run yet";
constexpr std::string_view kNoPreemption = "nothing is preempted yet";
constexpr std::string_view kNoPower = "nodes are never powered up or down";
constexpr std::string_view kNoEnergy = "energy, network and file system use are not gathered";
constexpr std::string_view kOneController = "one controller; high availability is not built yet";
constexpr std::string_view kNoCompletionLog = "finished jobs are in the built-in history alone";
constexpr std::string_view kNoReservations = "reservations are not built yet";
constexpr std::string_view kNoArrays = "job arrays are not built yet";
constexpr std::string_view kNoFrequency = "CPU and GPU frequencies are left as they are";
constexpr std::string_view kNoTopology = "placement does not look at the network yet";
constexpr std::string_view kGone = "gone from current Slurm";
constexpr std::string_view kNoMail = "mail is not sent";
constexpr std::string_view kByAgent =
    "the agent uses the best that its node allows: cgroups, else process groups";
constexpr std::string_view kGroups = "groups are looked up when they are needed";
constexpr std::string_view kNoContainers =
    "containers and private mounts for jobs are not built yet";
constexpr std::string_view kNoBcast = "sbcast is not built yet";
constexpr std::string_view kNoMpi = "MPI plugins are not built yet";
constexpr std::string_view kOwnLimits = "the limit is our own";
constexpr std::string_view kNoRest = "the REST interface is not built yet";
constexpr std::string_view kNoMemoryMax = "a request is held against the memory of nodes alone yet";
constexpr std::string_view kNoCron = "scrontab is not built yet";

constexpr Row no(std::string_view key,
                 std::string_view why,
                 std::string_view shown = "(null)",
                 std::string_view fine = "") {
    return ignored<Parameters>(key, why, shown, fine);
}

constexpr Row yes(std::string_view key, Row::Setter set, Row::Shower show) {
    return {key, Effect::Honoured, {}, {}, {}, set, show};
}

/// Read for `show config` and for what comes later, without an effect now.
constexpr Row later(std::string_view key, std::string_view why, Row::Setter set, Row::Shower show) {
    return {key, Effect::NoEffect, why, {}, {}, set, show};
}

Status set_controller(P& target, std::string_view text) {
    TRY_STATUS(check_text(text));
    ControllerHost host;
    const auto parts = split_once(text, '(');
    host.name = parts ? trim(parts->first) : text;
    if (parts && !parts->second.ends_with(')')) {
        return fail(ErrorCode::InvalidArgument, "the ')' after the address is missing");
    }
    if (parts) host.address = parts->second.substr(0, parts->second.size() - 1);
    if (host.name.empty()) return fail(ErrorCode::InvalidArgument, "a host name is missing");
    target.controllers.push_back(std::move(host));
    return {};
}

/// Slurm always counts the first eight; the site adds to them.
std::string show_tres(const P& target) {
    std::string text = "cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu";
    for (const std::string& name : target.accounting_storage_tres) {
        if (!is_one_of(name, text)) text += "," + name;
    }
    return text;
}

/// Clients look for a history that they can ask: ours is always there.
std::string show_accounting_type(const P&) {
    return "accounting_storage/slurmdbd";
}

std::string show_propagated(const P& target) {
    if (!target.propagate_limits.empty()) return join(target.propagate_limits, ",");
    return target.propagate_limits_except.empty() ? "ALL" : "(null)";
}

/// Slurm takes the first 40 characters that it allows, in lower case; we say what is wrong.
Status set_cluster_name(P& target, std::string_view text) {
    const auto fits = [](char c) {
        const char low = to_lower(c);
        return is_digit(c) || (low >= 'a' && low <= 'z') || c == '_' || c == '-' || c == '.';
    };
    if (text.empty() || text.size() > 40 || !std::ranges::all_of(text, fits)) {
        return fail(ErrorCode::InvalidArgument,
                    "'" + printable(text, 60) +
                        "' is no cluster name: 1 to 40 letters, digits, '_', '-', '.'");
    }
    target.cluster_name = to_lower(text);
    return {};
}

Status set_enforce(P& target, std::string_view text) {
    TRY(const std::size_t choice, parse_choice(text, "NO,ANY,ALL,YES"));
    constexpr std::array kValues = {
        EnforceLimits::No, EnforceLimits::Any, EnforceLimits::All, EnforceLimits::All};
    target.enforce_part_limits = kValues[choice];
    return {};
}

std::string show_enforce(const P& target) {
    constexpr std::array<const char*, 3> kWords = {"NO", "ANY", "ALL"};
    return kWords[static_cast<std::size_t>(target.enforce_part_limits)];
}

Status set_over_time(P& target, std::string_view text) {
    TRY(const std::optional<std::int64_t> minutes, parse_limit(text, 0, 65533));
    target.over_time_limit = minutes ? Seconds{60 * *minutes} : kUnlimited;
    return {};
}

std::string show_over_time(const P& target) {
    if (target.over_time_limit == kUnlimited) return "UNLIMITED";
    return std::to_string(target.over_time_limit.count() / 60) + " min";
}

Status set_scheduler_type(P& target, std::string_view text) {
    TRY(const std::size_t choice, parse_choice(text, "sched/backfill,sched/builtin"));
    target.backfill = choice == 0;
    return {};
}

std::string show_scheduler_type(const P& target) {
    return target.backfill ? "sched/backfill" : "sched/builtin";
}

Status set_priority_type(P& target, std::string_view text) {
    TRY(const std::size_t choice, parse_choice(text, "priority/multifactor,priority/basic"));
    target.multifactor = choice == 0;
    return {};
}

std::string show_priority_type(const P& target) {
    return target.multifactor ? "priority/multifactor" : "priority/basic";
}

/// Options whose value must be a number, as the product reads them.
constexpr auto kSchedulerNumbers =
    std::to_array<std::string_view>({"bf_max_job_test", "requeue_delay"});

Status set_scheduler_parameters(P& target, std::string_view text) {
    TRY_STATUS(check_text(text));
    target.scheduler_parameters.clear();
    for (const std::string_view part : split_list(text)) {
        const auto pair = split_once(part, '=');
        const std::string key = to_lower(pair ? pair->first : part);
        const std::string_view value = pair ? pair->second : std::string_view();
        if (std::ranges::find(kSchedulerNumbers, key) != kSchedulerNumbers.end()) {
            const auto number = parse_number<std::int64_t>(value, 0, 1'000'000);
            if (!number) return fail(Error(number.error()).in(key));
        }
        target.scheduler_parameters[key] = value;
    }
    return {};
}

std::string show_scheduler_parameters(const P& target) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : target.scheduler_parameters) {
        parts.push_back(value.empty() ? key : key + "=" + value);
    }
    return parts.empty() ? "(null)" : join(parts, ",");
}

Status set_select_parameters(P& target, std::string_view text) {
    TRY_STATUS(check_text(text));
    target.select_type_parameters = parse_list(to_upper(text));
    return {};
}

Status set_max_age(P& target, std::string_view text) {
    TRY_STATUS(set_time<&P::priority_max_age>(target, text));
    if (target.priority_max_age != kUnlimited && target.priority_max_age.count() > 0) return {};
    target.priority_max_age = Seconds{7 * 86400};
    return fail(ErrorCode::InvalidArgument, "must be a time above zero");
}

template <auto Member>
constexpr Row number(std::string_view key) {
    return yes(key, set_number<Member, 0, 0xffffffff>, show_number<Member>);
}

constexpr std::int64_t kTimeoutMax = 65533;

constexpr auto kTable = std::to_array<Row>({
    no("AccountingStorageBackupHost", kOwnStore),
    no("AccountingStorageEnforce", kNoAssociations, "none", "none,0"),
    no("AccountingStorageExternalHost", kOwnStore),
    no("AccountingStorageHost", kOwnStore, "localhost"),
    no("AccountingStorageLoc", kGone, ""),
    no("AccountingStorageParameters", kOwnStore),
    no("AccountingStoragePass", kOwnStore, ""),
    no("AccountingStoragePort", kOwnStore, "0"),
    later("AccountingStorageTRES",
          "GPUs are counted without being named",
          set_list<&P::accounting_storage_tres>,
          show_tres),
    {.key = "AccountingStorageType",
     .effect = Effect::NoEffect,
     .why = "history is built in, without a database daemon",
     .fine = "accounting_storage/slurmdbd",
     .set = set_text<&P::accounting_storage_type>,
     .show = show_accounting_type},
    no("AccountingStorageUser", kOwnStore, ""),
    no("AccountingStoreFlags", kOwnStore),
    no("AccountingStoreJobComment", kGone, ""),
    no("AcctGatherEnergyType", kNoEnergy, "(null)", "acct_gather_energy/none"),
    no("AcctGatherFilesystemType", kNoEnergy, "(null)", "acct_gather_filesystem/none"),
    no("AcctGatherInterconnectType", kNoEnergy, "(null)", "acct_gather_interconnect/none"),
    no("AcctGatherNodeFreq", kNoEnergy, "0 sec", "0"),
    no("AcctGatherProfileType", kNoEnergy, "(null)", "acct_gather_profile/none"),
    no("AllowSpecResourcesUsage", "no CPUs are set aside on nodes yet", "No", "0,no"),
    no("AuthAltParameters", kOwnWire),
    no("AuthAltTypes", kOwnWire),
    no("AuthInfo", kOwnWire),
    no("AuthType", kOwnWire, "auth/munge", "auth/munge"),
    no("BackupAddr", kOneController, ""),
    no("BackupController", kOneController, ""),
    later("BatchStartTimeout",
          "a launch is repeated until its agent answers or counts as lost",
          set_seconds<&P::batch_start_timeout, 0, kTimeoutMax>,
          show_seconds<&P::batch_start_timeout>),
    no("BcastExclude", kNoBcast, "/lib,/usr/lib,/lib64,/usr/lib64"),
    no("BcastParameters", kNoBcast),
    refused<P>("BurstBufferType",
               "burst buffers are not built: jobs would start without their data",
               "(null)",
               "none,burst_buffer/none"),
    no("CertgenParameters", kOwnWire),
    no("CertgenType", kOwnWire),
    no("CertmgrParameters", kOwnWire),
    no("CertmgrType", kOwnWire),
    no("CliFilterPlugins", "plugins of Slurm are not loaded", "(null)", "none,cli_filter/none"),
    yes("ClusterName", set_cluster_name, show_text<&P::cluster_name>),
    no("CommunicationParameters", kOwnWire),
    no("CompleteWait", "a node is free when its agent has confirmed it empty", "0 sec", "0"),
    no("ControlAddr", kGone, ""),
    no("ControlMachine", "SlurmctldHost replaced it", ""),
    no("CoreSpecPlugin", kGone, ""),
    no("CpuFreqDef", kNoFrequency, "Unknown"),
    no("CpuFreqGovernors", kNoFrequency, "OnDemand,Performance,UserSpace"),
    no("CredType", kOwnWire, "cred/munge", "cred/munge"),
    no("CryptoType", kGone, ""),
    no("DataParserParameters", kNoRest),
    no("DebugFlags", "logs have levels of their own"),
    {.key = "DefCpuPerGPU", .shown = "", .set = set_number<&P::cpus_per_gpu_default, 0, 65533>},
    yes("DefMemPerCPU",
        set_memory<&P::memory_default, &MemoryRule::per_cpu>,
        show_memory<&P::memory_default, &MemoryRule::per_cpu>),
    {.key = "DefMemPerGPU",
     .shown = "",
     .set = set_memory<&P::memory_default, &MemoryRule::per_gpu>},
    yes("DefMemPerNode",
        set_memory<&P::memory_default, &MemoryRule::per_node>,
        show_memory<&P::memory_default, &MemoryRule::per_node>),
    no("DependencyParameters", "dependencies are not built yet"),
    refused<P>("DisableRootJobs", "root's jobs are not kept out yet", "No", "no,0"),
    no("EioTimeout", kOwnLimits, "60"),
    yes("EnforcePartLimits", set_enforce, show_enforce),
    {.key = "Epilog",
     .effect = Effect::NoEffect,
     .why = kNoHooks,
     .set = set_list<&P::epilog>,
     .show = show_list<&P::epilog>},
    no("EpilogMsgTime", "agents report without a delay", "2000 usec"),
    no("EpilogSlurmctld", kNoHooks),
    no("EpilogTimeout", kNoHooks, "65534 sec"),
    no("ExtSensorsFreq", kGone, ""),
    no("ExtSensorsType", kGone, ""),
    no("FairShareDampeningFactor", kNoFairShare, "1", "1"),
    no("FastSchedule", kGone, ""),
    no("FederationParameters", "federations are not built"),
    yes("FirstJobId", set_number<&P::first_job_id, 1, 0x03ff0000>, show_number<&P::first_job_id>),
    no("GetEnvTimeout", kOwnLimits, "2 sec"),
    no("GpuFreqDef", kNoFrequency),
    yes("GresTypes", set_list<&P::gres_types>, show_list<&P::gres_types>),
    no("GroupUpdateForce", kGroups, "1"),
    no("GroupUpdateTime", kGroups, "600 sec"),
    no("HashPlugin", kOwnWire, "hash/k12"),
    no("HealthCheckInterval", "health programs are not run yet", "0 sec", "0"),
    no("HealthCheckNodeState", "health programs are not run yet", "ANY"),
    no("HealthCheckProgram", "health programs are not run yet"),
    no("HttpParserType", kNoRest, ""),
    later("InactiveLimit",
          "allocations without a script are not built yet",
          set_seconds<&P::inactive_limit, 0, kTimeoutMax>,
          show_seconds<&P::inactive_limit>),
    no("InteractiveStepOptions",
       "salloc is not built yet",
       "--interactive --preserve-env --pty $SHELL"),
    no("JobAcctGatherFrequency", "use is read at the end of a step", "30"),
    no("JobAcctGatherParams", "use is read at the end of a step"),
    no("JobAcctGatherType", "use is read at the end of a step", "(null)", "jobacct_gather/none"),
    no("JobCompHost", kNoCompletionLog, "localhost"),
    no("JobCompLoc", kNoCompletionLog),
    no("JobCompParams", kNoCompletionLog),
    no("JobCompPass", kNoCompletionLog, ""),
    no("JobCompPassScript", kNoCompletionLog, ""),
    no("JobCompPort", kNoCompletionLog, "0"),
    no("JobCompType", kNoCompletionLog, "(null)", "jobcomp/none"),
    no("JobCompUser", kNoCompletionLog, "root"),
    no("JobContainerType", kNoContainers, "(null)", "job_container/none"),
    no("JobCredentialPrivateKey", kGone, ""),
    no("JobCredentialPublicCertificate", kGone, ""),
    no("JobDefaults", "written as DefCpuPerGPU and DefMemPerGPU", "(null)"),
    yes("JobFileAppend", set_yes_no<&P::job_file_append>, show_flag<&P::job_file_append>),
    yes("JobRequeue", set_yes_no<&P::job_requeue>, show_flag<&P::job_requeue>),
    refused<P>("JobSubmitPlugins",
               "plugins of Slurm are not loaded: the rules in them would be skipped",
               "(null)",
               "none,job_submit/none"),
    later("KillOnBadExit",
          "a failed task does not end its step yet",
          set_yes_no<&P::kill_on_bad_exit>,
          show_flag<&P::kill_on_bad_exit>),
    yes("KillWait", set_seconds<&P::kill_wait, 0, kTimeoutMax>, show_seconds<&P::kill_wait>),
    no("LaunchParameters", "steps have no such options yet"),
    no("LaunchType", kGone, ""),
    no("Licenses", "licences are not built yet; a job that asks for one is refused"),
    no("LogTimeFormat", kOwnFiles, "iso8601_ms"),
    no("MailDomain", kNoMail),
    no("MailProg", kNoMail, "/bin/mail"),
    later("MaxArraySize",
          kNoArrays,
          set_number<&P::max_array_size, 1, 4'000'001>,
          show_number<&P::max_array_size>),
    yes("MaxBatchRequeue",
        set_number<&P::max_batch_requeue, 0, 0xffff>,
        show_number<&P::max_batch_requeue>),
    no("MaxDBDMsgs", kOwnStore, "20008"),
    yes("MaxJobCount",
        set_number<&P::max_job_count, 1, 0xffffffff>,
        show_number<&P::max_job_count>),
    yes("MaxJobId", set_number<&P::max_job_id, 1, 0x03ff0000>, show_number<&P::max_job_id>),
    {.key = "MaxMemPerCPU",
     .effect = Effect::NoEffect,
     .why = kNoMemoryMax,
     .fine = "0,unlimited",
     .set = set_memory<&P::memory_max, &MemoryRule::per_cpu>,
     .show = show_memory<&P::memory_max, &MemoryRule::per_cpu>},
    {.key = "MaxMemPerNode",
     .effect = Effect::NoEffect,
     .why = kNoMemoryMax,
     .fine = "0,unlimited",
     .set = set_memory<&P::memory_max, &MemoryRule::per_node>,
     .show = show_memory<&P::memory_max, &MemoryRule::per_node>},
    no("MaxNodeCount", "nodes come from the file alone", "65536"),
    later("MaxStepCount",
          "the number of steps is not limited yet",
          set_number<&P::max_step_count, 1, 0xfffffff0>,
          show_number<&P::max_step_count>),
    no("MaxTasksPerNode", kOwnLimits, "512"),
    no("MCSParameters", "multi-category security is not built"),
    refused<P>("MCSPlugin",
               "multi-category security is not built: jobs would be mixed and visible",
               "(null)",
               "none,mcs/none"),
    later("MessageTimeout",
          "commands wait 10 seconds for the controller",
          set_seconds<&P::message_timeout, 1, kTimeoutMax>,
          show_seconds<&P::message_timeout>),
    no("MetricsType", "metrics are not served yet", "(null)"),
    yes("MinJobAge", set_seconds<&P::min_job_age, 0, 0xffffffff>, show_seconds<&P::min_job_age>),
    no("MpiDefault", kNoMpi, "none", "none,mpi/none"),
    no("MpiParams", kNoMpi),
    no("NamespaceType", kNoContainers, "(null)", "namespace/none"),
    no("NodeFeaturesPlugins", "plugins of Slurm are not loaded"),
    yes("OverTimeLimit", set_over_time, show_over_time),
    no("PluginDir", "plugins of Slurm are not loaded", ""),
    no("PlugStackConfig", "SPANK plugins are not loaded", "(null)"),
    no("PowerParameters", kGone, ""),
    no("PowerPlugin", kGone, ""),
    no("PreemptExemptTime", kNoPreemption, "00:00:00"),
    no("PreemptMode", kNoPreemption, "OFF", "off"),
    no("PreemptParameters", kNoPreemption),
    no("PreemptType", kNoPreemption, "(null)", "preempt/none"),
    no("PrEpParameters", kNoHooks),
    no("PrEpPlugins", kNoHooks, "prep/script", "prep/script"),
    no("PriorityCalcPeriod", kNoFairShare, "00:05:00"),
    no("PriorityDecayHalfLife", kNoFairShare, "7-00:00:00"),
    yes("PriorityFavorSmall",
        set_yes_no<&P::priority_favor_small>,
        show_yes_no<&P::priority_favor_small>),
    later("PriorityFlags",
          "the score has no variants yet",
          set_list<&P::priority_flags>,
          show_list<&P::priority_flags>),
    yes("PriorityMaxAge", set_max_age, show_time<&P::priority_max_age>),
    no("PriorityParameters", "the score has no variants yet"),
    no("PrioritySiteFactorParameters", "plugins of Slurm are not loaded"),
    no("PrioritySiteFactorPlugin", "plugins of Slurm are not loaded"),
    yes("PriorityType", set_priority_type, show_priority_type),
    no("PriorityUsageResetPeriod", kNoFairShare, "NONE", "none"),
    number<&P::priority_weight_age>("PriorityWeightAge"),
    {.key = "PriorityWeightAssoc",
     .effect = Effect::NoEffect,
     .why = kNoAssociations,
     .fine = "0",
     .set = set_number<&P::priority_weight_assoc, 0, 0xffffffff>,
     .show = show_number<&P::priority_weight_assoc>},
    {.key = "PriorityWeightFairshare",
     .effect = Effect::NoEffect,
     .why = kNoFairShare,
     .fine = "0",
     .set = set_number<&P::priority_weight_fairshare, 0, 0xffffffff>,
     .show = show_number<&P::priority_weight_fairshare>},
    number<&P::priority_weight_job_size>("PriorityWeightJobSize"),
    number<&P::priority_weight_partition>("PriorityWeightPartition"),
    number<&P::priority_weight_qos>("PriorityWeightQOS"),
    no("PriorityWeightTRES", "the score does not weigh resources yet", "(null)"),
    refused<P>("PrivateData",
               "every user sees all jobs and nodes: what should be private would be shown",
               "none",
               "none"),
    {.key = "ProctrackType",
     .effect = Effect::NoEffect,
     .why = kByAgent,
     .fine = "proctrack/cgroup",
     .shown = "proctrack/cgroup",
     .set = set_text<&P::proctrack_type>},
    {.key = "Prolog",
     .effect = Effect::NoEffect,
     .why = kNoHooks,
     .set = set_list<&P::prolog>,
     .show = show_list<&P::prolog>},
    no("PrologEpilogTimeout", kNoHooks, "65534"),
    no("PrologFlags", kNoHooks),
    no("PrologSlurmctld", kNoHooks),
    no("PrologTimeout", kNoHooks, "65534 sec"),
    no("PropagatePrioProcess", "jobs start with the usual priority", "0", "0"),
    later("PropagateResourceLimits",
          "all soft limits of the submitter travel with the job",
          set_list<&P::propagate_limits>,
          show_propagated),
    later("PropagateResourceLimitsExcept",
          "all soft limits of the submitter travel with the job",
          set_list<&P::propagate_limits_except>,
          show_list<&P::propagate_limits_except>),
    no("RebootProgram", "nodes are not rebooted"),
    no("ReconfigFlags", "a reconfiguration takes the file as it is"),
    no("RequeueExit", "a job is requeued by its user or when a node is lost"),
    no("RequeueExitHold", "a job is requeued by its user or when a node is lost"),
    no("ResumeFailProgram", kNoPower),
    no("ResumeProgram", kNoPower),
    no("ResumeRate", kNoPower, "300 nodes/min"),
    no("ResumeTimeout", kNoPower, "60 sec"),
    no("ResvEpilog", kNoReservations),
    no("ResvOverRun", kNoReservations, "0 min"),
    no("ResvProlog", kNoReservations),
    yes("ReturnToService",
        set_number<&P::return_to_service, 0, 2>,
        show_number<&P::return_to_service>),
    no("RoutePlugin", kGone, ""),
    no("SallocDefaultCommand", kGone, ""),
    no("SbcastParameters", kNoBcast, ""),
    yes("SchedulerParameters", set_scheduler_parameters, show_scheduler_parameters),
    no("SchedulerTimeSlice", "jobs are not time-sliced", "30 sec"),
    yes("SchedulerType", set_scheduler_type, show_scheduler_type),
    no("ScronParameters", kNoCron),
    {.key = "SelectType",
     .effect = Effect::Refused,
     .why = "only select/cons_tres is built: whole-node allocation would not be kept",
     .fine = "select/cons_tres,select/cons_res",
     .set = set_text<&P::select_type>,
     .show = show_text<&P::select_type>},
    yes("SelectTypeParameters", set_select_parameters, show_list<&P::select_type_parameters>),
    no("SlurmctldAddr", kOneController, "(null)"),
    no("SlurmctldDebug", kOwnFiles, "info"),
    {.key = "SlurmctldHost", .shown = "", .set = set_controller},
    no("SlurmctldLogFile", kOwnFiles),
    no("SlurmctldParameters", "the controller has no such options"),
    no("SlurmctldPidFile", kOwnFiles, "/var/run/slurmctld.pid"),
    no("SlurmctldPlugstack", kGone, ""),
    no("SlurmctldPort", kOwnWire, "6817"),
    no("SlurmctldPrimaryOffProg", kOneController),
    no("SlurmctldPrimaryOnProg", kOneController),
    no("SlurmctldSyslogDebug", kOwnFiles, "(null)"),
    later("SlurmctldTimeout",
          kOneController,
          set_seconds<&P::slurmctld_timeout, 0, kTimeoutMax>,
          show_seconds<&P::slurmctld_timeout>),
    no("SlurmdDebug", kOwnFiles, "info"),
    no("SlurmdLogFile", kOwnFiles),
    no("SlurmdParameters", "agents have no such options"),
    no("SlurmdPidFile", kOwnFiles, "/var/run/slurmd.pid"),
    no("SlurmdPort", kOwnWire, "6818"),
    no("SlurmdSpoolDir", kOwnFiles, "/var/spool/slurmd"),
    no("SlurmdSyslogDebug", kOwnFiles, "(null)"),
    yes("SlurmdTimeout",
        set_seconds<&P::slurmd_timeout, 0, kTimeoutMax>,
        show_seconds<&P::slurmd_timeout>),
    no("SlurmdUser", "agents run as who started them", "root(0)"),
    no("SlurmSchedLogFile", kOwnFiles),
    no("SlurmSchedLogLevel", kOwnFiles, "0"),
    no("SlurmUser", "the controller runs as who started it", "root(0)"),
    no("SrunEpilog", kNoHooks),
    later("SrunPortRange",
          "srun opens no ports",
          set_text<&P::srun_port_range>,
          show_text<&P::srun_port_range>),
    no("SrunProlog", kNoHooks),
    no("StateSaveLocation", kOwnFiles, "/var/spool"),
    no("SuspendExcNodes", kNoPower),
    no("SuspendExcParts", kNoPower),
    no("SuspendExcStates", kNoPower),
    no("SuspendProgram", kNoPower),
    no("SuspendRate", kNoPower, "60 nodes/min"),
    no("SuspendTime", kNoPower, "INFINITE"),
    no("SuspendTimeout", kNoPower, "30 sec"),
    no("SwitchParameters", "network switches are left as they are"),
    no("SwitchType", "network switches are left as they are", "(null)", "switch/none"),
    no("TaskEpilog", kNoHooks),
    {.key = "TaskPlugin",
     .effect = Effect::NoEffect,
     .why = kByAgent,
     .fine = "task/cgroup",
     .shown = "task/cgroup",
     .set = set_list<&P::task_plugins>},
    no("TaskPluginParam", kByAgent, "(null type)", "none"),
    no("TaskProlog", kNoHooks),
    no("TCPTimeout", kOwnWire, "2 sec"),
    no("TLSParameters", kOwnWire),
    no("TLSType", kOwnWire, "(null)", "tls/none"),
    no("TmpFS", "space in temporary folders is not counted", "/tmp"),
    no("TopologyParam", kNoTopology),
    no("TopologyPlugin",
       kNoTopology,
       "topology/flat",
       "topology/flat,topology/default,topology/none"),
    no("TrackWCKey", "workload keys are not built", "No", "no,0"),
    no("TreeWidth", "every agent speaks to the controller itself", "16"),
    no("UnkillableStepProgram", kNoHooks),
    no("UnkillableStepTimeout", kOwnLimits, "60 sec"),
    no("UrlParserType", kNoRest, ""),
    no("UsePAM", "PAM sessions are not opened for jobs", "No", "0,no"),
    no("VSizeFactor", "virtual memory is not limited", "0 percent", "0"),
    no("WaitTime", "a step waits for all of its tasks", "0 sec", "0"),
    no("X11Parameters", "X11 is not forwarded"),
});

}  // namespace

std::span<const Entry<Parameters>> parameter_table() {
    return kTable;
}

bool memory_is_consumable(const Parameters& parameters) {
    return std::ranges::any_of(parameters.select_type_parameters, [](const std::string& word) {
        return word.starts_with("CR_") && word.ends_with("MEMORY");
    });
}

std::int64_t scheduler_number(const Parameters& parameters,
                              std::string_view option,
                              std::int64_t fallback,
                              std::int64_t min,
                              std::int64_t max) {
    const auto found = parameters.scheduler_parameters.find(std::string(option));
    if (found == parameters.scheduler_parameters.end()) return fallback;
    return parse_number<std::int64_t>(found->second, min, max).value_or(fallback);
}

}  // namespace twinyard::config
