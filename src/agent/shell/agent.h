#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/core/agent_core.h"
#include "agent/shell/controller_link.h"
#include "agent/shell/options.h"
#include "agent/shell/stepd_port.h"
#include "os/journal_file.h"
#include "rpc/loop.h"

namespace twinyard::agent {

/// The node daemon around its core: hands it events, performs its effects in order. Everything
/// after a durable append waits until the journal is on disk; while the disk refuses, nothing is
/// done and it is tried again. Loop's thread.
class Agent {
  public:
    /// `journal` absent: nothing is kept (emulated nodes).
    Agent(rpc::Loop& loop, Settings settings, std::optional<os::JournalFile> journal);
    ~Agent();
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    /// Takes an event; it is handled soon, with all others that come meanwhile.
    [[nodiscard]] OnEvent inlet();
    /// What the journal held, then the connection. `stepds` must outlive us.
    [[nodiscard]] Status start(std::vector<JournalEntry> entries,
                               StepdPort& stepds,
                               const std::string& controller);
    [[nodiscard]] ControllerLink& controller() { return *link_; }
    [[nodiscard]] const AgentCore& core() const { return core_; }

  private:
    void take(Event event);
    void run();
    /// False: the journal refuses; what is left waits.
    [[nodiscard]] bool perform_all();
    [[nodiscard]] bool perform(Effect& effect);
    [[nodiscard]] bool append(const AppendJournal& append);
    [[nodiscard]] bool sync();
    void compact_if_large();
    void journal_failed(const Error& error);
    void arm();

    rpc::Loop& loop_;
    AgentCore core_;
    std::optional<os::JournalFile> journal_;
    std::uint64_t records_after_compaction_ = 0;
    StepdPort* stepds_ = nullptr;
    std::unique_ptr<ControllerLink> link_;
    std::deque<Event> events_;
    std::deque<Effect> effects_;
    bool must_sync_ = false;
    bool posted_ = false;
    rpc::Timer timer_;
    rpc::Timer journal_retry_;
    std::shared_ptr<bool>
        alive_;  // Shared with a post in flight, which does nothing after our end.
};

/// Runs twinyard-agent until SIGTERM or SIGINT. Step daemons live on.
[[nodiscard]] Status run_agent(const AgentOptions& options);

}  // namespace twinyard::agent
