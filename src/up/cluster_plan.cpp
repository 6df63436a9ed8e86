#include "up/cluster_plan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/slurm_conf.h"
#include "os/files.h"

namespace twinyard::up {
namespace {

constexpr std::uint32_t kEmulatedCpus = 64;
constexpr std::int64_t kEmulatedMemory = std::int64_t{256} << 30;

std::vector<std::string> numbered(char letter, std::uint32_t count) {
    std::vector<std::string> names;
    for (std::uint32_t i = 1; i <= count; ++i)
        names.push_back(letter + std::to_string(i));
    return names;
}

std::vector<std::string> names_in(const config::SlurmConf& conf) {
    std::vector<std::string> names;
    for (const config::NodeLine& line : conf.nodes)
        names.insert(names.end(), line.names.begin(), line.names.end());
    return names;
}

Process controller(const UpOptions& options) {
    Process process{.name = "controller"};
    process.argv = {program_folder() + "/twinyard-controller",
                    "--dir",
                    options.dir,
                    "--log",
                    log_file(options.dir, "controller")};
    if (!options.config.empty())
        process.argv.insert(process.argv.end(), {"--config", options.config});
    return process;
}

std::vector<std::string> agent_argv(const UpOptions& options, const std::string& name) {
    return {program_folder() + "/twinyard-agent",
            "--controller",
            "unix:" + socket_file(options.dir),
            "--slurm-conf",
            options.dir + "/slurm.conf",
            "--bin",
            command_folder(),
            "--log",
            log_file(options.dir, name)};
}

Process agent(const UpOptions& options, const std::string& node, bool shares_host) {
    Process process{.name = "agent-" + node, .node = node};
    process.argv = agent_argv(options, process.name);
    const auto add = [&](std::string_view flag, const std::string& value) {
        process.argv.emplace_back(flag);
        process.argv.push_back(value);
    };
    add("--dir", options.dir + "/nodes/" + node);
    add("--node", node);
    if (options.cpus != 0) add("--cpus", std::to_string(options.cpus));
    if (options.memory_bytes != 0) add("--memory", std::to_string(options.memory_bytes));
    if (!options.gpus.empty()) add("--gpus", options.gpus);
    if (shares_host) process.argv.emplace_back("--shares-host");
    return process;
}

void add_emulator(const UpOptions& options,
                  const EmulateSpec& spec,
                  std::vector<std::string> names,
                  ClusterPlan& plan) {
    const std::uint32_t cpus = spec.cpus != 0      ? spec.cpus
                               : options.cpus != 0 ? options.cpus
                                                   : kEmulatedCpus;
    const std::int64_t memory = spec.memory_bytes != 0      ? spec.memory_bytes
                                : options.memory_bytes != 0 ? options.memory_bytes
                                                            : kEmulatedMemory;
    const std::string gpus = !spec.gpus.empty() ? spec.gpus : options.gpus;
    for (const std::string& name : names) {
        plan.emulated_nodes += name + " " + std::to_string(cpus) + " " + std::to_string(memory) +
                               " " + (gpus.empty() ? "-" : gpus) + "\n";
    }
    Process process{.name = "emulator", .node = fold_hostlist(names), .emulated = true};
    process.argv = agent_argv(options, process.name);
    process.argv.insert(process.argv.end(),
                        {"--dir",
                         options.dir + "/nodes/emulator",
                         "--emulate",
                         "--nodes-from",
                         options.dir + "/nodes/emulator/nodes"});
    plan.processes.push_back(std::move(process));
    plan.nodes = std::move(names);
}

std::string own_node_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    const std::string_view full(name.data());
    return std::string(full.substr(0, full.find('.')));
}

/// The nodes that get an agent of their own on this host.
Result<std::vector<std::string>> real_nodes(const UpOptions& options,
                                            const std::vector<std::string>& configured) {
    if (configured.empty())
        return options.nodes == 0 ? std::vector{own_node_name()} : numbered('n', options.nodes);
    const std::uint32_t wanted = options.nodes == 0 ? 1 : options.nodes;
    if (wanted > configured.size()) {
        return fail(ErrorCode::InvalidArgument,
                    "--nodes " + std::to_string(wanted) + ": the configuration names only " +
                        std::to_string(configured.size()) + " nodes");
    }
    return std::vector(configured.begin(), configured.begin() + wanted);
}

std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out + "'";
}

Status make_folder(const std::string& path, mode_t mode) {
    if (mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
    return fail(os::system_error(errno, "make " + path));
}

/// SLURM_CONF of the cluster: the user's own file, or a note that there is none.
Status link_slurm_conf(const UpOptions& options) {
    const std::string path = options.dir + "/slurm.conf";
    if (options.config == path) return {};
    (void)unlink(path.c_str());
    if (options.config.empty()) {
        return os::write_file_atomic(path,
                                     "# This cluster runs without a slurm.conf; its commands find "
                                     "it by this file's folder.\n",
                                     0644);
    }
    if (symlink(options.config.c_str(), path.c_str()) == 0) return {};
    return fail(os::system_error(errno, "link " + path));
}

}  // namespace

std::string pid_file(const std::string& dir, const std::string& name) {
    return dir + "/run/" + name + ".pid";
}
std::string log_file(const std::string& dir, const std::string& name) {
    return dir + "/log/" + name + ".log";
}
std::string socket_file(const std::string& dir) {
    return dir + "/run/controller.sock";
}

std::string program_folder() {
    std::array<char, PATH_MAX> path{};
    if (readlink("/proc/self/exe", path.data(), path.size() - 1) <= 0) return ".";
    return os::parent_folder(path.data());
}

std::string command_folder() {
    return os::parent_folder(program_folder()) + "/bin";
}

Result<ClusterPlan> make_plan(const UpOptions& options) {
    std::vector<std::string> configured;
    if (!options.config.empty()) {
        TRY(const config::SlurmConf conf, config::load(options.config));
        configured = names_in(conf);
        if (configured.empty())
            return fail(ErrorCode::InvalidArgument, options.config + ": names no nodes");
    }
    ClusterPlan plan{.dir = options.dir};
    plan.processes.push_back(controller(options));
    if (options.emulate) {
        TRY(const EmulateSpec spec, parse_emulate(*options.emulate));
        if (configured.empty() && spec.nodes == 0) {
            return fail(ErrorCode::InvalidArgument,
                        "--emulate: say how many, as in nodes=64, or name them by --config");
        }
        add_emulator(
            options, spec, configured.empty() ? numbered('e', spec.nodes) : configured, plan);
        return plan;
    }
    TRY(plan.nodes, real_nodes(options, configured));
    if (configured.empty()) {
        auto& argv = plan.processes.front().argv;
        argv.insert(argv.end(), {"--nodes", fold_hostlist(plan.nodes)});
    }
    for (const std::string& node : plan.nodes)
        plan.processes.push_back(agent(options, node, plan.nodes.size() > 1));
    return plan;
}

Status prepare_folder(const UpOptions& options, const ClusterPlan& plan) {
    for (const char* sub : {"/run", "/log", "/nodes"})
        TRY_STATUS(make_folder(options.dir + sub, 0755));
    if (!plan.emulated_nodes.empty()) {
        TRY_STATUS(make_folder(options.dir + "/nodes/emulator", 0755));
        TRY_STATUS(os::write_file_atomic(
            options.dir + "/nodes/emulator/nodes", plan.emulated_nodes, 0644));
    }
    TRY_STATUS(link_slurm_conf(options));
    const std::string env =
        "# Source this: the commands of this cluster.\nexport PATH=" + quoted(command_folder()) +
        "\":$PATH\"\nexport SLURM_CONF=" + quoted(options.dir + "/slurm.conf") + "\n";
    TRY_STATUS(os::write_file_atomic(options.dir + "/env.sh", env, 0644));
    return save_options(options);
}

}  // namespace twinyard::up
