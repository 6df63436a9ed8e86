#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "api/agent.h"
#include "sim/world.h"

namespace twinyard::sim {

/// One connection of an agent to a controller; also the number of its session there.
using LinkId = std::uint64_t;

/// What a controller hears from its connections.
class ControllerEnd {
  public:
    virtual ~ControllerEnd() = default;
    virtual void on_hello(LinkId link, const api::AgentHello& hello) = 0;
    virtual void on_report(LinkId link, std::uint64_t seq, const api::AgentReport& report) = 0;
    virtual void on_closed(LinkId link) = 0;
};

/// What an agent hears from its connection.
class AgentEnd {
  public:
    virtual ~AgentEnd() = default;
    virtual void on_orders(LinkId link, const api::AgentOrders& orders) = 0;
    virtual void on_answer(LinkId link, std::uint64_t seq, bool accepted) = 0;
    virtual void on_link_closed(LinkId link) = 0;
};

/// Connections between agents and controllers: messages of one keep their order, each takes its
/// time, and a connection breaks at any message, noticed by both ends when they notice it: until
/// then each speaks to nobody, or is heard although the other has long connected anew.
class Network {
  public:
    explicit Network(World& world) : world_(world) {}

    LinkId open(AgentEnd& agent, Owner agent_owner, ControllerEnd& controller, Owner its_owner);
    void send_up(LinkId id, std::function<void(ControllerEnd&)> message);
    void send_down(LinkId id, std::function<void(AgentEnd&)> message);
    /// The same message once more, some time later, if the connection still stands.
    void send_down_again(LinkId id, std::function<void(AgentEnd&)> message);
    /// An end has closed it or died: the other notices soon.
    void close(LinkId id) { cut(id, kSoon, kSoon); }
    /// A controller has died: all of its connections, also those that it had not heard of.
    void close_all_of(Owner controller);
    /// The wire is cut: both notice by and by.
    void break_off(LinkId id) { cut(id, kAgentNotices, kControllerNotices); }

  private:
    static constexpr Millis kSoon{50};
    static constexpr Millis kAgentNotices{2'000};
    static constexpr Millis kControllerNotices{15'000};

    struct Link {
        AgentEnd* agent = nullptr;
        ControllerEnd* controller = nullptr;
        Owner agent_owner = 0, controller_owner = 0;
        Millis last_up{0}, last_down{0};
        bool is_cut = false;
        Millis cut_at{0};  ///< What arrives later is lost.
    };

    void cut(LinkId id, Millis agent_notices, Millis controller_notices);
    [[nodiscard]] Millis arrival(Millis& last);
    [[nodiscard]] static bool arrives(const Link& link, Millis at) {
        return !link.is_cut || at <= link.cut_at;
    }
    void maybe_break(LinkId id);

    World& world_;
    std::map<LinkId, Link> links_;
    LinkId last_ = 0;
};

}  // namespace twinyard::sim
