// twinyard-agent from its options to its end: read the journal, look at the host, wire core,
// journal, step daemons and controller on one loop, run until told to end.
#include <signal.h>
#include <unistd.h>

#include <set>

#include "agent/shell/agent.h"
#include "agent/shell/emulated_host.h"
#include "agent/shell/journal_codec.h"
#include "agent/shell/node_facts.h"
#include "agent/shell/stepd_host.h"
#include "base/hash.h"
#include "os/files.h"
#include "os/log.h"

namespace twinyard::agent {
namespace {

/// Workloads that an emulated node remembers after they are forgotten.
constexpr std::size_t kEmulatedForgottenMax = 16;

/// Runs until SIGTERM or SIGINT.
void run_loop(rpc::Loop& loop) {
    ::signal(SIGPIPE, SIG_IGN);
    const rpc::Watch on_term = loop.on_signal(SIGTERM, [&] { loop.stop(); });
    const rpc::Watch on_int = loop.on_signal(SIGINT, [&] { loop.stop(); });
    const rpc::Watch on_hup = loop.on_signal(SIGHUP, [] { os::reopen_log(); });
    loop.run();
}

/// Differs between all nodes of all clusters on this host, and stays the same for this folder.
std::string containers_base(const AgentOptions& options, const std::string& node) {
    return "twinyard_" + to_hex(content_hash(options.dir)).substr(0, 8) + '_' + node;
}

/// All that is in the journal and has not been forgotten.
std::set<api::LaunchKey> known_launches(const std::vector<JournalEntry>& entries) {
    std::set<api::LaunchKey> known;
    for (const JournalEntry& entry : entries) {
        if (const auto* launched = std::get_if<Launched>(&entry.fact))
            known.insert(launched->order.key);
        if (const auto* forgotten = std::get_if<Forgotten>(&entry.fact))
            known.erase(forgotten->key);
    }
    return known;
}

bool was_welcomed(const std::vector<JournalEntry>& entries) {
    for (const JournalEntry& entry : entries) {
        if (std::holds_alternative<Welcomed>(entry.fact)) return true;
    }
    return false;
}

/// A broken journal is set aside: it counts as lost, and says so by being empty.
Result<os::JournalFile> open_journal(const std::string& path, std::vector<JournalEntry>& entries) {
    const auto visit = [&](std::string_view record) -> Status {
        TRY(JournalEntry entry, decode_entry(record));
        entries.push_back(std::move(entry));
        return {};
    };
    Result<os::JournalFile> journal = os::JournalFile::open(path, visit);
    if (journal || journal.error().code() != ErrorCode::Corrupt) return journal;
    os::log_error(
        "the journal is lost: {}; it is kept as {}.broken", journal.error().message(), path);
    entries.clear();
    if (::rename(path.c_str(), (path + ".broken").c_str()) != 0)
        return fail(os::system_error(errno, path));
    return os::JournalFile::open(path, visit);
}

Status run_emulated(const AgentOptions& options) {
    TRY(const std::string text, os::read_file(options.nodes_from));
    TRY(const os::HostInventory inventory, os::read_inventory());
    Result<std::vector<api::NodeHello>> nodes = parse_emulated_nodes(text, inventory.hostname);
    if (!nodes) return fail(std::move(nodes).error().in(options.nodes_from));
    os::log_info("playing {} emulated nodes", nodes->size());
    Settings settings;
    settings.nodes = std::move(*nodes);
    settings.keeps_journal = false;
    settings.forgotten_max = kEmulatedForgottenMax;
    rpc::Loop loop;
    Agent agent(loop, std::move(settings), std::nullopt);
    EmulatedHost stepds(loop, agent.inlet());
    TRY_STATUS(agent.start({}, stepds, options.controller));
    run_loop(loop);
    return {};
}

Status run_real(const AgentOptions& options) {
    std::vector<JournalEntry> entries;
    TRY(os::JournalFile journal, open_journal(options.dir + "/journal", entries));
    TRY(const os::HostInventory inventory, os::read_inventory());
    const std::string name = options.node.empty() ? inventory.hostname : options.node;
    TRY(const auto containers, os::detect_containers(containers_base(options, name)));
    TRY(HostNode node,
        describe_host(options, inventory, os::probe_namespaces(), containers->describe()));
    os::log_info("node {}: {} cpus, {}", name, node.hello.capacity.cpus, containers->describe());

    Settings settings;
    settings.address = inventory.hostname;
    settings.nodes = {node.hello};
    rpc::Loop loop;
    Agent agent(loop, std::move(settings), std::move(journal));
    const auto fetch = [&](const ContentHash& hash, ControllerLink::OnBlob on_blob) {
        agent.controller().fetch(hash, std::move(on_blob));
    };
    TRY(BlobCache blobs, BlobCache::open(options.dir + "/blobs", fetch));
    StepdHost stepds(loop,
                     {.program = options.stepd,
                      .folder = options.dir,
                      .node = name,
                      .containers = containers_base(options, name),
                      .slurm_conf = options.slurm_conf,
                      .bin = options.bin,
                      .node_hostname = node.node_hostname,
                      .cpuset_alone = node.cpuset_alone},
                     *containers,
                     blobs,
                     agent.inlet());
    if (!was_welcomed(entries)) os::log_info("no journal of earlier launches");
    stepds.sweep(known_launches(entries));
    TRY_STATUS(agent.start(std::move(entries), stepds, options.controller));
    run_loop(loop);
    // Only without jobs can it go; with some, the next agent on this folder finds it.
    if (stepds.empty()) (void)containers->remove_base();
    return {};
}

}  // namespace

Status run_agent(const AgentOptions& options) {
    TRY_STATUS(os::make_private_folder(options.dir));
    TRY(const os::Fd lock, os::lock_file(options.dir + "/agent.lock"));
    TRY_STATUS(os::write_pid_file(options.dir + "/agent.pid", os::own_process_id()));
    const Status status = options.emulate ? run_emulated(options) : run_real(options);
    ::unlink((options.dir + "/agent.pid").c_str());
    return status;
}

}  // namespace twinyard::agent
