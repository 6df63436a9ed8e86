#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/controller_host.h"
#include "sim/world.h"

namespace twinyard::sim {

/// The users and the administrator. A submission whose outcome is unknown is sent again under its
/// request id until it is answered; what was acknowledged is remembered, for the judgement at the
/// end.
class Clients {
  public:
    /// `controller` is who can be reached at the moment; null: nobody.
    Clients(World& world, std::size_t nodes, std::function<ControllerHost*()> controller)
        : world_(world), nodes_(nodes), controller_(std::move(controller)) {}

    /// So many submissions, and what follows from them, spread over this time.
    void begin(std::size_t jobs, Millis over);
    /// After the faults: nothing is held or drained any more. Again and again.
    void lift_all();

    [[nodiscard]] bool all_answered() const { return open_ == 0; }
    [[nodiscard]] std::size_t submitted() const { return requests_.size(); }
    struct Acknowledged {
        model::JobId job;
        std::size_t request = 0;
    };
    [[nodiscard]] const std::map<model::WorkloadId, Acknowledged>& acknowledged() const {
        return acknowledged_;
    }

  private:
    struct Request {
        api::Submit submit;
        Millis first_sent{-1};
        std::optional<api::Submitted> answer;
        bool closed = false;
        std::uint64_t tries = 0;
    };

    [[nodiscard]] std::shared_ptr<const model::WorkloadSpec> random_job(std::size_t number);
    void submit(std::size_t number);
    void send_submit(std::size_t number, ControllerHost& to);
    void send_again_late(std::size_t number, ControllerHost& to);
    void on_answer(std::size_t number, const Result<api::Reply>& reply);
    void check_durable(const Result<api::Reply>& reply);
    void acknowledge(std::size_t number, const api::Submitted& answer);
    void close(std::size_t number);
    void retry(std::size_t number, Millis delay);
    void follow_up(model::WorkloadId id);
    void disturb(model::WorkloadId id);
    void tend_nodes();
    [[nodiscard]] bool can_trust_down() const;
    void send(api::Command command, bool as_admin);
    [[nodiscard]] Millis think();

    World& world_;
    std::size_t nodes_;
    std::function<ControllerHost*()> controller_;
    std::vector<Request> requests_;
    std::size_t open_ = 0;
    Millis until_{0};
    std::map<model::WorkloadId, Acknowledged> acknowledged_;
};

}  // namespace twinyard::sim
