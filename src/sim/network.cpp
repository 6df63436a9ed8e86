#include "sim/network.h"

#include <algorithm>
#include <utility>

namespace twinyard::sim {

LinkId Network::open(AgentEnd& agent,
                     Owner agent_owner,
                     ControllerEnd& controller,
                     Owner its_owner) {
    const Millis now = world_.timeline.now();
    links_[++last_] = {.agent = &agent,
                       .controller = &controller,
                       .agent_owner = agent_owner,
                       .controller_owner = its_owner,
                       .last_up = now,
                       .last_down = now};
    return last_;
}

Millis Network::arrival(Millis& last) {
    const Millis takes = world_.dice.between(Millis{0}, world_.faults.latency_max);
    last = std::max(last, world_.timeline.now() + takes);
    return last;
}

void Network::send_up(LinkId id, std::function<void(ControllerEnd&)> message) {
    Link& link = links_.at(id);
    if (link.is_cut) return;
    const Millis at = arrival(link.last_up);
    world_.timeline.in(at - world_.timeline.now(),
                       link.controller_owner,
                       [this, id, at, message = std::move(message)] {
                           const Link& now = links_.at(id);
                           if (arrives(now, at)) message(*now.controller);
                       });
    maybe_break(id);
}

void Network::send_down(LinkId id, std::function<void(AgentEnd&)> message) {
    Link& link = links_.at(id);
    if (link.is_cut) return;
    const Millis at = arrival(link.last_down);
    world_.timeline.in(
        at - world_.timeline.now(), link.agent_owner, [this, id, at, message = std::move(message)] {
            const Link& now = links_.at(id);
            if (arrives(now, at)) message(*now.agent);
        });
    maybe_break(id);
}

void Network::send_down_again(LinkId id, std::function<void(AgentEnd&)> message) {
    const Millis later = world_.dice.between(Millis{1}, Seconds{90});
    world_.timeline.in(
        later, 0, [this, id, message = std::move(message)] { send_down(id, message); });
}

void Network::close_all_of(Owner controller) {
    for (const auto& [id, link] : links_) {
        if (link.controller_owner == controller) close(id);
    }
}

void Network::maybe_break(LinkId id) {
    if (!world_.dice.per_mille(world_.faults.break_link)) return;
    world_.note("link " + std::to_string(id) + " breaks");
    break_off(id);
}

void Network::cut(LinkId id, Millis agent_notices, Millis controller_notices) {
    Link& link = links_.at(id);
    if (link.is_cut) return;
    link.is_cut = true;
    const Millis under_way =
        world_.dice.between(Millis{0}, std::min(world_.faults.latency_max, agent_notices));
    link.cut_at = world_.timeline.now() + under_way;
    const auto notices = [&](Millis within) {
        return under_way + world_.dice.between(Millis{1}, within);
    };
    world_.timeline.in(notices(agent_notices), link.agent_owner, [this, id] {
        links_.at(id).agent->on_link_closed(id);
    });
    world_.timeline.in(notices(controller_notices), link.controller_owner, [this, id] {
        links_.at(id).controller->on_closed(id);
    });
}

}  // namespace twinyard::sim
