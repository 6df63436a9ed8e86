#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/command.h"
#include "controller/core/core.h"
#include "controller/shell/lanes.h"
#include "rpc/server.h"

namespace twinyard::controller {

/// The connections of agents: streams of orders out, reports in, and who has been silent. A session
/// is one order stream. Threads: the on_… calls on io, send() and each_second() on the state
/// thread.
class AgentSessions {
  public:
    AgentSessions(std::shared_ptr<Lanes> lanes, model::Term term, Millis heartbeat);

    void on_stream(rpc::Call call);
    void on_report(rpc::Call call);

    /// Sends orders and refusals; orders for a session that is gone are dropped: the next one gets
    /// them in full.
    void send(std::vector<api::Effect> effects, const std::string& cluster_id);

    /// Judges silence: what the core should know of nodes' links. `limits` as configured now.
    [[nodiscard]] std::vector<api::Command> each_second(const Core& core,
                                                        ClusterTime now,
                                                        const model::Limits& limits);

  private:
    struct Session {
        std::uint64_t connection = 0;
        std::unique_ptr<rpc::Call> stream;
        bool heard = true;  ///< Since the last look.
        /// Not yet acknowledged. Owners: this, and the command's reply.
        std::map<std::uint64_t, std::shared_ptr<rpc::Call>> reports;
    };
    struct Heard {
        ClusterTime last{};
    };
    void left(std::uint64_t session);
    [[nodiscard]] std::uint64_t session_of_connection(std::uint64_t connection);
    /// The call of a report, out of the session; null if it is gone.
    [[nodiscard]] std::shared_ptr<rpc::Call> take_report(std::uint64_t session,
                                                         std::uint64_t number);
    [[nodiscard]] std::vector<std::uint64_t> take_heard();

    std::shared_ptr<Lanes> lanes_;  // Owners: the controller's threads that push.
    const model::Term term_;
    const Millis heartbeat_;
    std::mutex mutex_;
    std::map<std::uint64_t, Session> sessions_;
    std::uint64_t next_session_ = 1;
    std::uint64_t next_report_ = 1;
    std::map<model::NodeId, Heard> nodes_;  ///< State thread only.
};

}  // namespace twinyard::controller
