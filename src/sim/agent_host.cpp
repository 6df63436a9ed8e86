#include "sim/agent_host.h"

#include <algorithm>
#include <utility>

namespace twinyard::sim {
namespace {

constexpr Millis kReconnectMax{1'500};
constexpr Millis kDownMax{6'000};
constexpr Millis kRebootMax{25'000};
/// What a step daemon says needs a moment to be heard.
constexpr Millis kEar{1};

std::vector<std::string> names_of(const agent::Settings& settings) {
    std::vector<std::string> names;
    for (const api::NodeHello& node : settings.nodes)
        names.push_back(node.name);
    return names;
}

}  // namespace

AgentHost::AgentHost(World& world,
                     Launches& launches,
                     Network& network,
                     agent::Settings settings,
                     std::function<LinkId(AgentHost&)> dial)
    : world_(world),
      network_(network),
      settings_(std::move(settings)),
      dial_(std::move(dial)),
      stepds_(world, launches, names_of(settings_), [this](agent::Event event) {
          if (!is_up()) return;
          world_.timeline.in(kEar, owner_, [this, event = std::move(event)] { hear(event); });
      }) {}

agent::Now AgentHost::now() const {
    return {.boot = world_.timeline.now(), .wall = world_.wall()};
}

void AgentHost::boot() {
    world_.note("agent " + settings_.address + " boots");
    owner_ = world_.timeline.new_owner();
    flush_at_.reset();
    core_.emplace(settings_);
    perform(core_->handle(agent::JournalLoaded{synced_}, now()));
    if (!is_up()) return;
    sweep();
    if (world_.dice.one_in(2)) synced_ = core_->journal();
    connect_in(world_.dice.between(Millis{1}, kReconnectMax));
}

void AgentHost::sweep() {
    std::set<Stepds::Launch> known;
    for (agent::NodeIndex node = 0; node < core_->nodes().size(); ++node) {
        for (const auto& [key, launch] : core_->nodes()[node].launches())
            known.insert({node, key});
    }
    stepds_.sweep(known);
}

void AgentHost::crash() {
    if (is_up()) die(world_.dice.between(Millis{50}, kDownMax));
}

/// The page cache decides how much of what was not synced is there afterwards.
void AgentHost::die(Millis back_after) {
    world_.note("agent " + settings_.address + " dies");
    unsynced_.resize(world_.dice.below(unsynced_.size() + 1));
    synced_.insert(synced_.end(), unsynced_.begin(), unsynced_.end());
    unsynced_.clear();
    if (link_ != 0) network_.close(link_);
    link_ = 0;
    world_.timeline.end(owner_);
    core_.reset();
    world_.timeline.in(back_after, 0, [this] {
        if (!is_up()) boot();
    });
}

void AgentHost::reboot(bool lose_disk) {
    if (!is_up()) return;
    world_.note(settings_.address + (lose_disk ? " reboots with a new disk" : " reboots"));
    die(world_.dice.between(Millis{1'000}, kRebootMax));
    stepds_.reboot();
    if (!lose_disk) return;
    synced_.clear();
    stepds_.wipe();
}

void AgentHost::cut_off(Millis how_long) {
    world_.note(settings_.address + " is cut off");
    cut_off_until_ = world_.timeline.now() + how_long;
    if (link_ != 0) network_.break_off(link_);
}

void AgentHost::set_device_health(bool all_well) {
    bool changed = false;
    for (api::NodeHello& node : settings_.nodes) {
        for (model::Device& device : node.capacity.devices) {
            const bool healthy = all_well || !world_.dice.one_in(3);
            changed |= std::exchange(device.healthy, healthy) != healthy;
        }
    }
    if (changed) crash();
}

std::string AgentHost::what_is_left() const {
    if (!is_up()) return "agent " + settings_.address + " is down";
    if (!stepds_.empty()) return settings_.address + " has step daemons or exit records left";
    for (const agent::NodeCore& node : core_->nodes()) {
        if (!node.launches().empty())
            return "node " + node.name() + " still knows launch " +
                   text_of(node.launches().begin()->first);
    }
    return {};
}

void AgentHost::connect_in(Millis delay) {
    world_.timeline.in(delay, owner_, [this] { connect(); });
}

void AgentHost::connect() {
    if (link_ != 0) return;
    const bool reachable = world_.timeline.now() >= cut_off_until_;
    link_ = reachable ? dial_(*this) : 0;
    if (link_ == 0) return connect_in(world_.dice.between(Millis{100}, kReconnectMax));
    hear(agent::ConnectionUp{});
}

void AgentHost::on_link_closed(LinkId link) {
    if (link != link_) return;
    link_ = 0;
    hear(agent::ConnectionDown{});
    if (is_up()) connect_in(world_.dice.between(Millis{10}, kReconnectMax));
}

void AgentHost::on_orders(LinkId link, const api::AgentOrders& orders) {
    if (link == link_) hear(agent::OrdersReceived{orders});
}

void AgentHost::on_answer(LinkId link, std::uint64_t seq, bool accepted) {
    if (link != link_ || seq == 0) return;
    if (accepted)
        hear(agent::ReportAcked{seq});
    else
        hear(agent::ReportFailed{seq});
}

void AgentHost::hear(const agent::Event& event) {
    if (!is_up()) return;
    perform(core_->handle(event, now()));
    if (is_up()) plan_flush(world_.dice.between(Millis{0}, Millis{10}));
}

/// The earliest plan counts.
void AgentHost::plan_flush(Millis delay) {
    const Millis at = world_.timeline.now() + delay;
    if (flush_at_ && *flush_at_ <= at) return;
    flush_at_ = at;
    world_.timeline.in(delay, owner_, [this, plan = ++flush_plan_] {
        if (plan == flush_plan_) flush();
    });
}

void AgentHost::flush() {
    flush_at_.reset();
    perform(core_->flush(now()));
    if (!is_up()) return;
    if (const auto wakeup = core_->next_wakeup())
        plan_flush(std::max(Millis{1}, *wakeup - world_.timeline.now()));
}

void AgentHost::perform(const std::vector<agent::Effect>& effects) {
    const bool cut = !effects.empty() && world_.dice.per_mille(world_.faults.crash_in_effects);
    const std::size_t until = cut ? world_.dice.below(effects.size() + 1) : effects.size();
    for (std::size_t i = 0; i < until && is_up(); ++i)
        perform(effects[i]);
    if (cut) crash();
}

void AgentHost::perform(const agent::Effect& effect) {
    if (const auto* one = std::get_if<agent::AppendJournal>(&effect)) {
        append(*one);
    } else if (const auto* hello = std::get_if<agent::SendHello>(&effect)) {
        network_.send_up(link_, [link = link_, message = hello->hello](ControllerEnd& end) {
            end.on_hello(link, message);
        });
    } else if (const auto* report = std::get_if<agent::SendReport>(&effect)) {
        network_.send_up(
            link_, [link = link_, seq = report->seq, message = report->report](ControllerEnd& end) {
                end.on_report(link, seq, message);
            });
    } else if (const auto* drop = std::get_if<agent::DropConnection>(&effect)) {
        world_.note("agent " + settings_.address + " hangs up: " + drop->why);
        if (link_ != 0) network_.close(std::exchange(link_, 0));
        hear(agent::ConnectionDown{});
        connect_in(world_.dice.between(Millis{100}, kReconnectMax));
    } else {
        stepds_.perform(effect);
    }
}

void AgentHost::append(const agent::AppendJournal& append) {
    unsynced_.push_back(append.entry);
    if (!append.durable) return;
    synced_.insert(synced_.end(), unsynced_.begin(), unsynced_.end());
    unsynced_.clear();
}

}  // namespace twinyard::sim
